// Kind graph: GPUs, switches, NICs and links by name.
#include <algorithm>

#include <fmt/core.h>

#include "sim/topology/topology_kinds.hpp"

namespace ddpsim {
namespace {

class GraphTopology final : public Topology {
 public:
  GraphTopology(std::shared_ptr<const GraphPlan> plan, std::vector<LinkOverride> overrides)
      : plan_(std::move(plan)), overrides_(std::move(overrides)) {
    bare_network = std::all_of(plan_->wires.begin(), plan_->wires.end(),
                               [](const auto& wire) { return wire.cable.medium == Medium::network; });
  }

  [[nodiscard]] std::shared_ptr<const Cluster> build(int gpus, std::span<const LinkOverride> overrides,
                                                     std::optional<Hashing> /*hashing*/) const override {
    if (gpus > plan_->gpus)
      throw InputError(
          fmt::format("{} GPUs are more than the {} of the topology", gpus, plan_->gpus),
          fmt::format("use a world size of at most {}, or add GPUs to the topology", plan_->gpus));
    auto cluster = std::make_shared<GraphCluster>(plan_, gpus);
    cluster->change(overrides_, overrides);
    return cluster;
  }
  [[nodiscard]] std::optional<int> usual_size() const override { return plan_->gpus; }

 private:
  std::shared_ptr<const GraphPlan> plan_;
  std::vector<LinkOverride> overrides_;
};

}  // namespace

std::shared_ptr<Topology> make_graph_topology(std::shared_ptr<const GraphPlan> plan,
                                              std::vector<LinkOverride> overrides) {
  return std::make_shared<GraphTopology>(std::move(plan), std::move(overrides));
}

}  // namespace ddpsim
