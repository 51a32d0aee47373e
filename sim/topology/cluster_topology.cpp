// Kind cluster: nodes, the fabric over them, and what differs.
#include <fmt/core.h>

#include "sim/topology/node_cluster.hpp"
#include "sim/topology/topology_kinds.hpp"

namespace ddpsim {
namespace {

class ClusterTopology final : public Topology {
 public:
  ClusterTopology(std::shared_ptr<const ClusterPlan> plan, std::vector<LinkOverride> overrides)
      : plan_(std::move(plan)), overrides_(std::move(overrides)) {}

  [[nodiscard]] std::shared_ptr<const Cluster> build(int gpus, std::span<const LinkOverride> overrides,
                                                     std::optional<Hashing> hashing) const override {
    int a_node = plan_->kinds[0].model.gpus;
    if (gpus > a_node && plan_->fabric.kind == Fabric::Kind::none)
      throw InputError(fmt::format("{} GPUs are more than one node of {}, and the topology has no fabric to "
                                   "join several",
                                   gpus, a_node),
                       fmt::format("use at most {}, or add a 'fabric' to the topology", a_node));
    auto cluster = std::make_shared<NodeCluster>(plan_, gpus, hashing);
    if (!overrides_.empty() || !overrides.empty()) cluster->change(overrides_, overrides);
    return cluster;
  }
  void check_hashing(int gpus) const override {
    const auto& usual = plan_->kinds[0].model;
    (void)uplink_cables(plan_->fabric, (gpus + usual.gpus - 1) / usual.gpus, usual.nics);
  }
  [[nodiscard]] std::optional<int> usual_size() const override { return plan_->kinds[0].model.gpus; }
  [[nodiscard]] std::optional<int> node_size() const override { return usual_size(); }
  [[nodiscard]] std::optional<int> rack_size() const override {
    const auto& usual = plan_->kinds[0].model;
    return usual.gpus > nccl::kMostGpusOfHost && usual.reducing_switch ? usual_size() : std::nullopt;
  }

 private:
  std::shared_ptr<const ClusterPlan> plan_;
  std::vector<LinkOverride> overrides_;
};

}  // namespace

std::shared_ptr<Topology> make_cluster_topology(std::shared_ptr<const ClusterPlan> plan,
                                                std::vector<LinkOverride> overrides) {
  return std::make_shared<ClusterTopology>(std::move(plan), std::move(overrides));
}

}  // namespace ddpsim
