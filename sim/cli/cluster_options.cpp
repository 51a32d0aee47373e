#include "sim/cli/cluster_options.hpp"

#include "sim/base/limits.hpp"
#include "sim/cli/preset_options.hpp"
#include "sim/text/presets.hpp"
#include "sim/text/topology_file.hpp"
#include "sim/topology/placement.hpp"

namespace ddpsim::cli {

void ClusterOptions::add_to(Command& command) {
  command.options.push_back({.name = "FILE",
                             .value = &file,
                             .description = "Topology: a name ('ddpsim list topologies') or a file (YAML)",
                             .is_required = true,
                             .names = names_of(PresetKind::topologies)});
  command.options.push_back({.name = "--world-size",
                             .value = &gpus,
                             .description = "GPUs; without it one node, or all that a graph names",
                             .range = {{1, kLargestWorldSize}}});
}

std::shared_ptr<const Cluster> ClusterOptions::build(const Topology& topology) const {
  auto size = gpus ? gpus : topology.usual_size();
  if (!size) throw InputError("this topology fits any number of GPUs", "say how many: --world-size 8");
  if (auto of_rack = topology.rack_size())
    return topology.build(gpus_of_nodes(*size, usual_domain_gpus(*size, *of_rack), *of_rack));
  return topology.build(*size);
}

std::vector<int> ClusterOptions::job(const Topology& topology, const Cluster& cluster) const {
  int size = gpus.value_or(cluster.gpus());
  Placement placement;
  if (auto of_rack = topology.rack_size()) placement.of_node = usual_domain_gpus(size, *of_rack);
  return place_ranks(placement, cluster, size);
}

std::shared_ptr<const Topology> ClusterOptions::topology() const {
  return read_topology(preset_path(PresetKind::topologies, "FILE", file));
}

void AllowedOptions::add_to(Command& command) {
  command.options.push_back(
      {.name = "--collnet",
       .value = &collnet,
       .description =
           "With CollNet (SHARP), as NCCL_COLLNET_ENABLE=1 has it; NCCL's own estimates, uncalibrated"});
  command.options.push_back(
      {.name = "--symmetric",
       .value = &symmetric,
       .description =
           "With buffers in symmetric windows (NCCL 2.27 and later); NCCL's own estimates, uncalibrated"});
}

nccl::Allowed AllowedOptions::allowed(const NcclPlatform& platform) const {
  if (collnet && !platform.network_reduces)
    throw InputError(
        "--collnet needs a network that reduces, which this topology's does not",
        "where its switches do (SHARP) and NCCL has the plug-in, write nccl: {network_reduces: true} in "
        "the topology");
  return {{}, {}, collnet, symmetric};
}

const char* AllowedOptions::given() const {
  if (collnet) return "--collnet";
  return symmetric ? "--symmetric" : nullptr;
}

}  // namespace ddpsim::cli
