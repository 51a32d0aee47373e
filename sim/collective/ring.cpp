// Rings over all ranks, and the chains that broadcast and reduce.
#include <algorithm>
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

// From the first of the order to the last; each rank adds what it gets to its own where that is reduced.
Channel one_chain(const Wiring& wiring, const std::vector<int>& order, Part part, bool reduce) {
  int hops = wiring.ranks - 1;
  Channel channel{Pattern::pipeline, part, {}, hops};
  channel.edges.reserve(hops);
  for (int hop = 0; hop < hops; ++hop) {
    int from = order[hop], to = order[hop + 1];
    channel.edges.push_back(edge_along(wiring.path(from, to), from, to));
    channel.edges.back().reduce = reduce;
    if (hop > 0) channel.edges.back().inputs = {hop - 1};
  }
  return channel;
}

}  // namespace

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

CollectiveSchedule chain(Operation operation, const Wiring& wiring,
                         const std::vector<std::vector<int>>& orders) {
  check_orders(wiring, orders);
  CollectiveSchedule schedule{"chain", operation, wiring.ranks, {}};
  if (wiring.ranks == 1) return schedule;
  bool reduce = reduces(operation);
  Stage stage{operation, {}};
  for (std::size_t c = 0; c < orders.size(); ++c) {
    DDPSIM_CHECK(orders[c][0] == orders[0][0], "all chains start at the root, or end there");
    auto order = orders[c];
    if (reduce) std::reverse(order.begin(), order.end());
    stage.channels.push_back(one_chain(wiring, order, share_of(c, orders.size()), reduce));
  }
  schedule.stages.push_back(std::move(stage));
  return schedule;
}

}  // namespace ddpsim
