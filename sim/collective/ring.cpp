// Rings over all ranks, and the chain that broadcasts.
#include <utility>

#include "sim/base/check.hpp"
#include "sim/collective/algorithms.hpp"
#include "sim/collective/channels.hpp"

namespace ddpsim {
namespace {

void check_orders(const Wiring& wiring, const std::vector<std::vector<int>>& orders) {
  DDPSIM_CHECK(!orders.empty(), "at least one channel");
  for (const auto& order : orders)
    DDPSIM_CHECK(is_permutation_of(order, wiring.ranks), "an order visits every rank once");
}

Part share_of(std::size_t channel, std::size_t channels) {
  return {static_cast<int>(channel), static_cast<int>(channels)};
}

CollectiveSchedule ring(Operation operation, const Wiring& wiring,
                        const std::vector<std::vector<int>>& orders) {
  check_orders(wiring, orders);
  CollectiveSchedule schedule{"ring", operation, wiring.ranks, {}};
  if (wiring.ranks == 1) return schedule;
  Stage stage{operation, {}};
  stage.channels.reserve(orders.size());
  for (std::size_t c = 0; c < orders.size(); ++c)
    stage.channels.push_back(ring_channel(wiring, orders[c], share_of(c, orders.size())));
  schedule.stages.push_back(std::move(stage));
  return schedule;
}

Channel chain(const Wiring& wiring, const std::vector<int>& order, Part part) {
  int hops = wiring.ranks - 1;
  Channel channel{Pattern::pipeline, part, {}, hops};
  channel.edges.reserve(hops);
  for (int hop = 0; hop < hops; ++hop) {
    int from = order[hop], to = order[hop + 1];
    channel.edges.push_back(edge_along(wiring.path(from, to), from, to));
    if (hop > 0) channel.edges.back().inputs = {hop - 1};
  }
  return channel;
}

}  // namespace

CollectiveSchedule ring_all_reduce(const Wiring& wiring, const std::vector<std::vector<int>>& orders) {
  return ring(Operation::all_reduce, wiring, orders);
}

CollectiveSchedule ring_reduce_scatter(const Wiring& wiring, const std::vector<std::vector<int>>& orders) {
  return ring(Operation::reduce_scatter, wiring, orders);
}

CollectiveSchedule ring_all_gather(const Wiring& wiring, const std::vector<std::vector<int>>& orders) {
  return ring(Operation::all_gather, wiring, orders);
}

CollectiveSchedule chain_broadcast(const Wiring& wiring, const std::vector<std::vector<int>>& orders) {
  check_orders(wiring, orders);
  CollectiveSchedule schedule{"chain", Operation::broadcast, wiring.ranks, {}};
  if (wiring.ranks == 1) return schedule;
  Stage stage{Operation::broadcast, {}};
  for (std::size_t c = 0; c < orders.size(); ++c) {
    DDPSIM_CHECK(orders[c][0] == orders[0][0], "all chains start at the root");
    stage.channels.push_back(chain(wiring, orders[c], share_of(c, orders.size())));
  }
  schedule.stages.push_back(std::move(stage));
  return schedule;
}

}  // namespace ddpsim
