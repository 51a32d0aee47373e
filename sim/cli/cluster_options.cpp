#include "sim/cli/cluster_options.hpp"

#include <fmt/core.h>

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
      {.name = "--algorithm",
       .value = &algorithm,
       .description = "Times with this algorithm, as NCCL_ALGO forces it; and what NCCL would do by itself",
       .words = {"ring", "tree", "nvls", "nvls_tree", "collnet_direct", "collnet_chain", "pat"}});
  command.options.push_back({.name = "--protocol",
                             .value = &protocol,
                             .description = "The same with this protocol, as NCCL_PROTO",
                             .words = {"ll", "ll128", "simple"}});
  command.options.push_back(
      {.name = "--nccl-version",
       .value = &version,
       .description = fmt::format("Release whose constants choose, {} to {}; the topology's by default",
                                  nccl::name(nccl::kOldestVersion), nccl::name(nccl::kNewestVersion))});
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

nccl::Allowed AllowedOptions::unforced(const NcclPlatform& platform) const {
  if (collnet && !platform.network_reduces)
    throw InputError(
        "--collnet needs a network that reduces, which this topology's does not",
        "where its switches do (SHARP) and NCCL has the plug-in, write nccl: {network_reduces: true} in "
        "the topology");
  return {{}, {}, collnet, symmetric};
}

nccl::Allowed AllowedOptions::allowed(const NcclPlatform& platform) const {
  auto allowed = unforced(platform);
  for (const auto& [word, value] : nccl::kAlgorithmNames)
    if (word == algorithm) allowed.algorithms = {value};
  for (const auto& [word, value] : nccl::kProtocolNames)
    if (word == protocol) allowed.protocols = {value};
  return allowed;
}

NcclPlatform AllowedOptions::platform(NcclPlatform platform) const {
  if (version.empty()) return platform;
  auto given = nccl::parse_version(version);
  bool is_known = given && *given >= nccl::kOldestVersion && *given <= nccl::kNewestVersion;
  if (!is_known)
    throw InputError(given ? fmt::format("the constants of NCCL {} are not known (--nccl-version)", version)
                           : fmt::format("'{}' is no version of NCCL (--nccl-version)", version),
                     fmt::format("write it like 2.21; known are {} to {}", nccl::name(nccl::kOldestVersion),
                                 nccl::name(nccl::kNewestVersion)));
  platform.version = *given;
  return platform;
}

const char* AllowedOptions::given() const {
  if (!algorithm.empty()) return "--algorithm";
  if (!protocol.empty()) return "--protocol";
  if (!version.empty()) return "--nccl-version";
  if (collnet) return "--collnet";
  return symmetric ? "--symmetric" : nullptr;
}

}  // namespace ddpsim::cli
