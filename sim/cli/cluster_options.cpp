#include "sim/cli/cluster_options.hpp"

#include "sim/base/limits.hpp"

namespace ddpsim::cli {

void ClusterOptions::add_to(CLI::App& command) {
  command.add_option("FILE", file, "Topology (YAML)")->required();
  command.add_option("--world-size", gpus, "GPUs; without it one node, or all that a graph names")
      ->check(CLI::Range(1, kLargestWorldSize));
}

std::shared_ptr<const Cluster> ClusterOptions::build(const Topology& topology) const {
  auto size = gpus ? gpus : topology.usual_size();
  if (!size) throw InputError("this topology fits any number of GPUs", "say how many: --world-size 8");
  return topology.build(*size);
}

}  // namespace ddpsim::cli
