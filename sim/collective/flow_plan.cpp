#include "sim/collective/flow_plan.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "sim/base/check.hpp"
#include "sim/collective/schedule_structure.hpp"

namespace ddpsim {
namespace {

FlowChannel unfolded(const Channel& channel, Operation operation) {
  bool is_ring = channel.pattern == Pattern::ring;
  FlowChannel result{is_ring ? Coupling::neighbour : Coupling::rounds, chunking_of(channel, operation)};
  auto levels = is_ring ? std::vector<int>(channel.edges.size(), 0) : pipeline_levels(channel);
  for (std::size_t e = 0; e < channel.edges.size(); ++e) {
    const Edge& edge = channel.edges[e];
    result.flows.push_back(
        {{edge.route.begin(), edge.route.end()}, edge.latency, edge.piece.share(), levels[e]});
    result.last_level = std::max(result.last_level, levels[e]);
  }
  return result;
}

// Union-find over channels, joined where they use the same link.
class Components {
 public:
  explicit Components(std::size_t n) : parent_(n) { std::iota(parent_.begin(), parent_.end(), 0U); }
  std::size_t find(std::size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  // The lower one stays the root, so that units come in the order of their first channel.
  void join(std::size_t a, std::size_t b) {
    a = find(a);
    b = find(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<std::size_t> parent_;
};

}  // namespace

std::vector<int> pipeline_levels(const Channel& channel) {
  std::vector<int> levels(channel.edges.size(), 0);
  auto order = delivery_order(channel);
  DDPSIM_CHECK(order.size() == levels.size(), "no edges of a pipeline wait for each other");
  for (int e : order)
    for (int input : channel.edges[static_cast<std::size_t>(e)].inputs)
      levels[static_cast<std::size_t>(e)] =
          std::max(levels[static_cast<std::size_t>(e)], levels[static_cast<std::size_t>(input)] + 1);
  return levels;
}

FlowPlan slowed(FlowPlan plan, double factor) {
  for (auto& stage : plan.stages)
    for (auto& unit : stage.units)
      for (auto& channel : unit.channels)
        for (auto& flow : channel.flows) {
          flow.latency = factor * flow.latency;
          flow.piece *= factor;
        }
  return plan;
}

FlowStage into_units(std::vector<FlowChannel> channels) {
  Components components(channels.size());
  std::map<int, std::size_t> first_user;
  for (std::size_t c = 0; c < channels.size(); ++c)
    for (const auto& flow : channels[c].flows)
      for (int link : flow.route) components.join(c, first_user.try_emplace(link, c).first->second);
  FlowStage stage;
  std::map<std::size_t, std::size_t> unit_of;
  for (std::size_t c = 0; c < channels.size(); ++c) {
    auto [it, is_new] = unit_of.try_emplace(components.find(c), stage.units.size());
    if (is_new) stage.units.emplace_back();
    stage.units[it->second].channels.push_back(std::move(channels[c]));
  }
  for (auto& unit : stage.units) {
    for (const auto& channel : unit.channels)
      for (const auto& flow : channel.flows)
        unit.links.insert(unit.links.end(), flow.route.begin(), flow.route.end());
    std::sort(unit.links.begin(), unit.links.end());
    unit.links.erase(std::unique(unit.links.begin(), unit.links.end()), unit.links.end());
  }
  return stage;
}

FlowPlan unfolded(const CollectiveSchedule& schedule) {
  FlowPlan plan;
  for (const auto& stage : schedule.stages) {
    std::vector<FlowChannel> channels;
    for (const auto& channel : stage.channels) channels.push_back(unfolded(channel, stage.operation));
    plan.stages.push_back(into_units(std::move(channels)));
  }
  return plan;
}

}  // namespace ddpsim
