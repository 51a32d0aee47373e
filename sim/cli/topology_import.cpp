#include "sim/topology/import/topology_import.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>

#include <fmt/ranges.h>

#include "sim/base/counted.hpp"
#include "sim/base/file_kind.hpp"
#include "sim/base/limits.hpp"
#include "sim/base/one_line.hpp"
#include "sim/base/output_file.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/standard_error.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/preset_options.hpp"
#include "sim/cli/scenario_options.hpp"
#include "sim/cli/scenario_text.hpp"
#include "sim/config/overrides.hpp"
#include "sim/config/reader.hpp"
#include "sim/text/gpu_file.hpp"
#include "sim/text/presets.hpp"
#include "sim/topology/import/slurm_topology.hpp"

namespace ddpsim::cli {
namespace {

struct ImportOptions {
  std::string format, out, nic_bandwidth, socket_bandwidth, node;
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

// What the word stands for, which is one of them.
template <class Value>
std::optional<Value> value_of(const std::optional<std::string>& given, const Words<Value>& words) {
  for (const auto& [word, value] : words)
    if (word == given) return value;
  return std::nullopt;
}

// Of either vendor: generations, and GPUs by their names in gpus/.
std::vector<std::string> gpu_words() {
  auto words = names(gpus());
  auto add = [&words](const std::vector<std::string>& more) {
    for (const auto& word : more)
      if (std::ranges::find(words, word) == words.end()) words.push_back(word);
  };
  add(names(amd_gpus()));
  add(preset_names(PresetKind::gpus));
  return words;
}

// A GPU of NVIDIA's by its name in gpus/ has the generation that its file says.
void take_gpu_file(const std::optional<std::string>& given, TopologyImport& import) {
  if (!given || import.gpu || import.amd) return;
  import.gpu_file = *given;
  auto described = read_gpu(*find_preset(PresetKind::gpus, *given));
  import.gpu = value_of(std::optional(described.architecture), gpus());
}

Words<HostCpu> host_cpus() {
  Words<HostCpu> words;
  for (auto cpu : {HostCpu::broadwell, HostCpu::skylake, HostCpu::sapphire_rapids, HostCpu::emerald_rapids,
                   HostCpu::amd, HostCpu::arm, HostCpu::power9, HostCpu::zhaoxin})
    words.emplace_back(socket_figures(cpu).option, cpu);
  words.emplace_back("intel", HostCpu::skylake);  // as a topology's section nccl has it
  return words;
}

std::optional<BytesPerSecond> bandwidth(const char* option, const std::string& text) {
  if (text.empty()) return std::nullopt;
  return parse_bandwidth({text, whole_file(make_source(option, text))});
}

std::vector<std::string> node_formats() {
  return {"nvidia-smi", "rocm-smi", "nccl-xml", "slurm"};
}

// The key `fabric` of that tree. The file says neither what it is built of nor how much its uplinks carry:
// that of the nodes' own fabric stands, one oversubscription for all levels.
config::Value fabric_of(const SlurmTree& tree, const config::Value& topology) {
  config::Value fabric;
  fabric.kind = config::Value::Kind::map;
  auto add = [&fabric](const char* key, const std::string& text) {
    fabric.entries.push_back({key, {}, config::scalar_value(text)});
  };
  add("kind", "fat_tree");
  if (tree.levels == 3) add("levels", "3");
  add("nodes_per_leaf", std::to_string(tree.nodes_per_leaf));
  if (tree.levels == 3) add("leaves_per_pod", std::to_string(tree.leaves_per_pod));
  if (const auto* own = topology.find("fabric"); own && own->value.kind == config::Value::Kind::map)
    for (const auto& entry : own->value.entries)
      if (entry.key == "network" || entry.key == "cloud" || entry.key == "latency" ||
          (entry.key == "oversubscription" && entry.value.kind == config::Value::Kind::scalar))
        fabric.entries.push_back(entry);
  return fabric;
}

// What topology.conf does not say of a fabric, and what stands instead.
std::vector<std::string> assumptions(const SlurmTree& tree, const config::Value& topology,
                                     const std::string& node) {
  std::vector<std::string> notes;
  if (const auto* kind = config::find_at(topology, "fabric.kind"); kind && kind->scalar == "rail_optimized")
    notes.push_back(fmt::format(
        "the fabric of {} has a leaf for each rail, of which the file says nothing: all NICs of a "
        "node are on one leaf",
        node));
  const auto* own = config::find_at(topology, "fabric.oversubscription");
  bool is_said = own && own->kind == config::Value::Kind::scalar;
  if (tree.levels > 1)
    notes.push_back(fmt::format(
        "how many cables a switch has upwards the file does not say: {} (fabric.oversubscription)",
        is_said ? fmt::format("one for {} down, as those of {}", own->scalar, node) : "as many as down"));
  if (!tree.ignored.empty()) notes.push_back(fmt::format("left out: {}", fmt::join(tree.ignored, ", ")));
  return notes;
}

// Nodes of another topology below the switches of Slurm's.
void import_slurm(const ImportOptions& options) {
  if (options.node.empty())
    throw InputError("--node is required: topology.conf says nothing of its nodes",
                     "name a topology whose nodes they are: --node dgx-h100");
  auto tree = read_slurm_topology(options.import.path);
  auto node = preset_path(PresetKind::topologies, "--node", options.node);
  auto topology = config::load_yaml(node, "a topology");
  const auto* kind = topology.find("kind");
  if (!kind || kind->value.scalar != "cluster")
    throw InputError(topology.span, "these are no nodes to put below switches",
                     "only 'kind: cluster' has a fabric");
  if (!config::find_at(topology, "node.nics"))
    throw InputError(topology.span, "these nodes have no NICs, which switches would join",
                     "add nics to the node");
  auto notes = assumptions(tree, topology, options.node);
  auto fabric = fabric_of(tree, topology);
  std::erase_if(topology.entries,
                [](const config::Entry& entry) { return entry.key == "fabric" || entry.key == "extent"; });
  topology.entries.push_back({"fabric", {}, std::move(fabric)});
  if (const auto* gpus = config::find_at(topology, "node.gpus")) {
    auto count = config::as_integer(1, kLargestWorldSize)(*gpus) * tree.nodes;
    config::Value extent;
    extent.kind = config::Value::Kind::map;
    extent.entries.push_back({"gpus", {}, config::scalar_value(std::to_string(count))});
    extent.entries.push_back(
        {"beyond", {}, config::scalar_value("Slurm's topology.conf names no more nodes")});
    if (count <= kLargestWorldSize) topology.entries.push_back({"extent", {}, std::move(extent)});
  }
  auto name = one_line(std::filesystem::path(options.import.path).filename().string());
  auto text =
      fmt::format("# {} below the switches of {} (Slurm), made by 'ddpsim topology import': {} nodes.\n{}",
                  options.node, name, tree.nodes, scenario_text(topology, node, options.out));
  OutputPhase writing;
  write_output(options.out, text);
  print_stderr("wrote {} nodes below {} of switches to {}\n", tree.nodes, counted(tree.levels, "level"),
               options.out);
  for (const auto& note : notes) print_stderr("note: {}\n", note);
}

void import(const ImportOptions& options) {
  TopologyImport import = options.import;
  import.gpu = value_of(options.gpu, gpus());
  import.amd = value_of(options.gpu, amd_gpus());
  take_gpu_file(options.gpu, import);
  import.cpu = value_of(options.cpu, host_cpus());
  import.cpu_is_vendor = options.cpu == "intel";
  import.nic_bandwidth = bandwidth("--nic-bandwidth", options.nic_bandwidth);
  import.socket_bandwidth = bandwidth("--socket-bandwidth", options.socket_bandwidth);
  check_outputs({{"--out", options.out}});
  auto format = options.format.empty()
                    ? format_of(import.path, node_formats(),
                                "what nvidia-smi, rocm-smi or NCCL says of a node, or Slurm of switches")
                    : options.format;
  if (format == "slurm") return import_slurm(options);
  if (!options.node.empty())
    throw InputError("--node is for Slurm's topology.conf: this file says what its node is", "leave it out");
  auto imported = format == "nvidia-smi" ? import_nvidia_smi(import)
                  : format == "rocm-smi" ? import_rocm_smi(import)
                                         : import_nccl_xml(import);
  write_output(options.out, imported.yaml);
  print_stderr("wrote {} to {}\n", imported.summary, options.out);
  for (const auto& note : imported.notes) print_stderr("note: {}\n", note);
  if (!imported.has_nccl && !imported.is_amd)
    print_stderr("note: without a section 'nccl', algorithm auto is plain rings there; {} it\n",
                 options.gpu   ? "--cpu adds"
                 : options.cpu ? "--gpu adds"
                               : "--gpu and --cpu add");
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
                           "or NCCL_TOPO_FILE names; slurm: topology.conf, whose switches are a fabric",
            .words = node_formats()},
           {.name = "IN",
            .value = &import_options.path,
            .description = "File to import",
            .is_required = true},
           out,
           {.name = "--node",
            .value = &options->node,
            .description =
                "Topology whose nodes are below the switches of Slurm's topology.conf, by name or file",
            .refuses_empty = true,
            .names = names_of(PresetKind::topologies)},
           {.name = "--gpu",
            .value = &options->gpu,
            .description =
                "GPU ('ddpsim list gpus'), or its generation (hopper) or architecture (gfx942), where "
                "the file does not say: NVLink or xGMI, and PCIe",
            .type = "hopper|h100-sxm|...",
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
            .type = "intel|skylake|amd|...",
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
