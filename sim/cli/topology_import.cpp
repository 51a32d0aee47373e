#include "sim/topology/import/topology_import.hpp"

#include <memory>

#include <fmt/format.h>

#include "sim/base/output_file.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/standard_error.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/scenario_options.hpp"

namespace ddpsim::cli {
namespace {

struct ImportOptions {
  std::string format, out, nic_bandwidth, socket_bandwidth;
  TopologyImport import;
};

// CLI11's list of words with the value each stands for.
const std::vector<std::pair<std::string, nccl::Gpu>> kGpus{{"volta", nccl::Gpu::volta},
                                                           {"ampere", nccl::Gpu::ampere},
                                                           {"ada", nccl::Gpu::ada},
                                                           {"hopper", nccl::Gpu::hopper},
                                                           {"blackwell", nccl::Gpu::blackwell}};

std::vector<std::pair<std::string, HostCpu>> host_cpus() {
  std::vector<std::pair<std::string, HostCpu>> words;
  for (auto cpu : {HostCpu::broadwell, HostCpu::skylake, HostCpu::sapphire_rapids, HostCpu::emerald_rapids,
                   HostCpu::amd, HostCpu::arm, HostCpu::power9, HostCpu::zhaoxin})
    words.emplace_back(socket_figures(cpu).option, cpu);
  return words;
}

std::optional<BytesPerSecond> bandwidth(const char* option, const std::string& text) {
  if (text.empty()) return std::nullopt;
  return parse_bandwidth({text, whole_file(make_source(option, text))});
}

void import(const ImportOptions& options) {
  TopologyImport import = options.import;
  import.nic_bandwidth = bandwidth("--nic-bandwidth", options.nic_bandwidth);
  import.socket_bandwidth = bandwidth("--socket-bandwidth", options.socket_bandwidth);
  if (options.out != "-") check_writable(options.out, "--out");
  auto imported = options.format == "nvidia-smi" ? import_nvidia_smi(import) : import_nccl_xml(import);
  write_output(options.out, imported.yaml);
  print_stderr("wrote {} to {}\n", imported.summary, options.out);
  for (const auto& note : imported.notes) print_stderr("note: {}\n", note);
  if (!imported.has_nccl)
    print_stderr(
        "note: without a section 'nccl', algorithm auto is plain rings there; --gpu and --cpu add it\n");
}

}  // namespace

void add_topology_import(CLI::App& topology, Action& run) {
  auto* command =
      topology.add_subcommand("import", "Turn what other tools say about a node into a topology file");
  auto options = std::make_shared<ImportOptions>();
  auto& import_options = options->import;
  command
      ->add_option(
          "--format", options->format,
          "nvidia-smi: what 'nvidia-smi topo -m' prints; nccl-xml: what NCCL_TOPO_DUMP_FILE writes or "
          "NCCL_TOPO_FILE names")
      ->required()
      ->check(CLI::IsMember({"nvidia-smi", "nccl-xml"}));
  command->add_option("IN", import_options.path, "File to import")->required();
  add_output(*command, "--out", options->out, "Topology to write (- for standard output)")->required();
  auto word = [](auto words) { return CLI::CheckedTransformer(words).description(""); };
  command
      ->add_option("--gpu", import_options.gpu,
                   "GPU generation, where the file does not say: NVLink and PCIe")
      ->transform(word(kGpus))
      ->type_name("volta|ampere|ada|hopper|blackwell");
  command
      ->add_option(
          "--nvlinks", import_options.nvlinks,
          "NVLinks between any two GPUs, where NCCL's XML holds none; of NV# of 'nvidia-smi topo -m' the #")
      ->check(CLI::Range(1, 64));
  command
      ->add_option("--pcie-generation", import_options.pcie_generation,
                   "Generation of PCIe, where the file does not say; that of the GPU by default")
      ->check(CLI::Range(1, 6));
  command
      ->add_option("--cpu", import_options.cpu, "CPU, where the file does not say: the links between sockets")
      ->transform(word(host_cpus()))
      ->type_name("skylake|amd|...");
  command->add_option("--nic-bandwidth", options->nic_bandwidth,
                      "Of each NIC and direction, where the file does not say, like 200Gbps");
  command->add_option(
      "--socket-bandwidth", options->socket_bandwidth,
      "Between two sockets and in each direction, like 16GB/s; as NCCL counts the CPU by default");
  command->footer(
      "Example:\n  ddpsim topology import --format nvidia-smi matrix.txt --gpu ampere --cpu amd "
      "--nic-bandwidth "
      "200Gbps --out "
      "node.yaml");
  command->callback([options, &run] { run = [options] { import(*options); }; });
}

}  // namespace ddpsim::cli
