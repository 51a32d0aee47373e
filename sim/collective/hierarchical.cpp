#include <utility>

#include "sim/base/check.hpp"
#include "sim/collective/algorithms.hpp"
#include "sim/collective/channels.hpp"

namespace ddpsim {
namespace {

using Orders = std::vector<std::vector<std::vector<int>>>;  // [node][channel][ring position]: local position

// Everything the three stages share: g ranks in each node, `channels` rings in it.
struct Plan {
  const Wiring& wiring;
  const Orders& orders;
  int g;
  int channels;

  [[nodiscard]] int rank(std::size_t node, int channel, int position) const {
    int local = orders[node][channel][position];
    return wiring.nodes[node][local];
  }
};

void check_orders(const Plan& plan) {
  DDPSIM_CHECK(plan.orders.size() == plan.wiring.nodes.size() && plan.channels >= 1,
               "ring orders for every node");
  for (const auto& node : plan.orders) {
    DDPSIM_CHECK(static_cast<int>(node.size()) == plan.channels, "as many channels in every node");
    for (const auto& order : node)
      DDPSIM_CHECK(is_permutation_of(order, plan.g), "an order visits every rank of the node once");
  }
}

Stage node_rings(const Plan& plan, Operation operation) {
  Stage stage{operation, {}};
  stage.channels.reserve(plan.wiring.nodes.size() * plan.channels);
  std::vector<int> ranks(plan.g);
  for (std::size_t node = 0; node < plan.wiring.nodes.size(); ++node)
    for (int c = 0; c < plan.channels; ++c) {
      for (int p = 0; p < plan.g; ++p) ranks[p] = plan.rank(node, c, p);
      stage.channels.push_back(ring_channel(plan.wiring, ranks, {c, plan.channels}));
    }
  return stage;
}

// One ring a channel and position, over the ranks that hold the same shard: with the same order in every
// node, those at the same local position.
Stage rails(const Plan& plan) {
  Stage stage{Operation::all_reduce, {}};
  stage.channels.reserve(plan.channels * plan.g);
  std::vector<int> ranks(plan.wiring.nodes.size());
  for (int c = 0; c < plan.channels; ++c)
    for (int p = 0; p < plan.g; ++p) {
      for (std::size_t node = 0; node < ranks.size(); ++node) ranks[node] = plan.rank(node, c, p);
      // ring_transfer: reduce-scatter leaves position p with chunk p + 1.
      Part shard{c * plan.g + (p + 1) % plan.g, plan.channels * plan.g};
      stage.channels.push_back(ring_channel(plan.wiring, ranks, shard));
    }
  return stage;
}

}  // namespace

CollectiveSchedule hierarchical(const Wiring& wiring, const Orders& node_orders) {
  int g = ranks_per_node(wiring, "hierarchical");
  int channels = node_orders.empty() ? 0 : static_cast<int>(node_orders[0].size());
  Plan plan{wiring, node_orders, g, channels};
  check_orders(plan);
  CollectiveSchedule schedule{"hierarchical", Operation::all_reduce, wiring.ranks, {}};
  if (g > 1) schedule.stages.push_back(node_rings(plan, Operation::reduce_scatter));
  if (wiring.nodes.size() > 1) schedule.stages.push_back(rails(plan));
  if (g > 1) schedule.stages.push_back(node_rings(plan, Operation::all_gather));
  return schedule;
}

}  // namespace ddpsim
