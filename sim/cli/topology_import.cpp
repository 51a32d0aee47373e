#include "sim/topology/import/topology_import.hpp"

#include <memory>

#include <fmt/ranges.h>

#include "sim/base/file_kind.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/standard_error.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/scenario_options.hpp"

namespace ddpsim::cli {
namespace {

struct ImportOptions {
  std::string format, out, nic_bandwidth, socket_bandwidth;
  std::optional<std::string> gpu, cpu;
  TopologyImport import;
};

template <class Value>
using Words = std::vector<std::pair<std::string, Value>>;

template <class Value>
std::vector<std::string> names(const Words<Value>& words) {
  std::vector<std::string> names;
  for (const auto& [word, value] : words) names.push_back(word);
  return names;
}

Words<nccl::Gpu> gpus() {
  return {nccl::kGpuNames.begin(), nccl::kGpuNames.end()};
}

Words<AmdGpu> amd_gpus() {
  Words<AmdGpu> words;
  for (const auto& board : kAmdBoards)
    words.emplace_back(board.name, AmdGpu{&architecture_of(board), &board});
  for (const auto& architecture : kAmdArchitectures)
    words.emplace_back(architecture.name, AmdGpu{&architecture, nullptr});
  return words;
}

// Of either vendor.
std::vector<std::string> gpu_words() {
  auto words = names(gpus());
  for (auto& word : names(amd_gpus())) words.push_back(std::move(word));
  return words;
}

Words<HostCpu> host_cpus() {
  Words<HostCpu> words;
  for (auto cpu : {HostCpu::broadwell, HostCpu::skylake, HostCpu::sapphire_rapids, HostCpu::emerald_rapids,
                   HostCpu::amd, HostCpu::arm, HostCpu::power9, HostCpu::zhaoxin})
    words.emplace_back(socket_figures(cpu).option, cpu);
  return words;
}

// What the word stands for, which is one of them.
template <class Value>
std::optional<Value> value_of(const std::optional<std::string>& given, const Words<Value>& words) {
  for (const auto& [word, value] : words)
    if (word == given) return value;
  return std::nullopt;
}

std::optional<BytesPerSecond> bandwidth(const char* option, const std::string& text) {
  if (text.empty()) return std::nullopt;
  return parse_bandwidth({text, whole_file(make_source(option, text))});
}

std::vector<std::string> node_formats() {
  return {"nvidia-smi", "rocm-smi", "nccl-xml"};
}

void import(const ImportOptions& options) {
  TopologyImport import = options.import;
  import.gpu = value_of(options.gpu, gpus());
  import.amd = value_of(options.gpu, amd_gpus());
  import.cpu = value_of(options.cpu, host_cpus());
  import.nic_bandwidth = bandwidth("--nic-bandwidth", options.nic_bandwidth);
  import.socket_bandwidth = bandwidth("--socket-bandwidth", options.socket_bandwidth);
  check_outputs({{"--out", options.out}});
  auto format = options.format.empty() ? format_of(import.path, node_formats(),
                                                   "what nvidia-smi, rocm-smi or NCCL says of a node")
                                       : options.format;
  auto imported = format == "nvidia-smi" ? import_nvidia_smi(import)
                  : format == "rocm-smi" ? import_rocm_smi(import)
                                         : import_nccl_xml(import);
  write_output(options.out, imported.yaml);
  print_stderr("wrote {} to {}\n", imported.summary, options.out);
  for (const auto& note : imported.notes) print_stderr("note: {}\n", note);
  if (!imported.has_nccl && !imported.is_amd)
    print_stderr(
        "note: without a section 'nccl', algorithm auto is plain rings there; --gpu and --cpu add it\n");
}

}  // namespace

Command topology_import_command() {
  auto options = std::make_shared<ImportOptions>();
  auto& import_options = options->import;
  auto out = output_option("--out", &options->out, "Topology to write (- for standard output)");
  out.is_required = true;
  return {
      .name = "import",
      .description = "Turn what other tools say about a node into a topology file",
      .example =
          "  ddpsim topology import matrix.txt --gpu ampere --cpu amd --nic-bandwidth "
          "200Gbps --out node.yaml",
      .options =
          {{.name = "--format",
            .value = &options->format,
            .description = "Where the file does not tell it by itself. nvidia-smi: what 'nvidia-smi topo -m' "
                           "prints; rocm-smi: what 'rocm-smi "
                           "--showtopo' prints; nccl-xml: what NCCL_TOPO_DUMP_FILE makes NCCL or RCCL write, "
                           "or NCCL_TOPO_FILE names",
            .words = node_formats()},
           {.name = "IN",
            .value = &import_options.path,
            .description = "File to import",
            .is_required = true},
           out,
           {.name = "--gpu",
            .value = &options->gpu,
            .description = "GPU generation of NVIDIA, or GPU or architecture of AMD, where the file does not "
                           "say: NVLink or xGMI, and PCIe",
            .type = fmt::format("{}", fmt::join(gpu_words(), "|")),
            .words = gpu_words()},
           {.name = "--nvlinks",
            .value = &import_options.nvlinks,
            .description = "NVLinks between any two GPUs, where NCCL's XML holds none; of NV# of 'nvidia-smi "
                           "topo -m' the #",
            .range = {{1, 64}}},
           {.name = "--pcie-generation",
            .value = &import_options.pcie_generation,
            .description = "Generation of PCIe, where the file does not say; that of the GPU by default",
            .range = {{1, 6}}},
           {.name = "--peer-to-peer",
            .value = &import_options.peer_to_peer,
            .description = "File with what 'nvidia-smi topo -p2p r' prints on the same machine, beside the "
                           "matrix or NCCL's XML"},
           {.name = "--cpu",
            .value = &options->cpu,
            .description = "CPU, where the file does not say: the links between sockets",
            .type = "skylake|amd|...",
            .words = names(host_cpus())},
           {.name = "--nic-bandwidth",
            .value = &options->nic_bandwidth,
            .description = "Of each NIC and direction, where the file does not say, like 200Gbps"},
           {.name = "--socket-bandwidth",
            .value = &options->socket_bandwidth,
            .description =
                "Between two sockets and in each direction, like 16GB/s; as NCCL counts the CPU by default"}},
      .run = [options] { import(*options); }};
}

}  // namespace ddpsim::cli
