#pragma once
// What the all-reduces of a group of GPUs take with Gloo, from what the cluster says of their machines.
#include <optional>
#include <span>

#include "sim/cost/all_reduce_scale.hpp"
#include "sim/gloo/cost_model.hpp"
#include "sim/topology/cluster.hpp"
#include "sim/topology/topology.hpp"

namespace ddpsim {

class GlooModel {
 public:
  explicit GlooModel(const gloo::CostModel& cost) : cost_(cost) {}

  // Other operations than broadcasts take their share of a ring all-reduce's time.
  [[nodiscard]] Seconds time(Bytes bytes, Operation operation = Operation::all_reduce) const;
  // The same with other times.
  [[nodiscard]] GlooModel scaled(const AllReduceScale& scale) const;

 private:
  gloo::CostModel cost_;
  AllReduceScale scale_;
};

// Ranks in their order, each sending to the one before it; a machine has one interface for all of its ranks.
// Throws InputError (without a place) when broken links part two of them. `copy` is for the caller to fill.
gloo::Group gloo_group(const Cluster& cluster, std::span<const int> gpus);

// Of the GPU that is worst off when all of these copy to their hosts at once; nullopt where the cluster has
// no PCIe.
std::optional<BytesPerSecond> pcie_copy_bandwidth(const Cluster& cluster, std::span<const int> gpus);

// Where it has none: by the generation of PCIe that the GPU named for NCCL has.
BytesPerSecond usual_copy_bandwidth(const Topology& topology);

}  // namespace ddpsim
