#include "sim/cost/communication.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include <fmt/core.h>

#include "sim/base/check.hpp"
#include "sim/base/doing.hpp"
#include "sim/cost/channel_heads.hpp"
#include "sim/cost/hashed_flows.hpp"
#include "sim/topology/rings.hpp"

namespace ddpsim {
namespace {

Path as_path(Route route) {
  return {std::move(route.links), route.latency, route.bandwidth};
}

Wiring wiring_of(const Cluster& cluster, std::span<const int> gpus) {
  auto gpu = [gpus](int rank) { return gpus[static_cast<std::size_t>(rank)]; };
  Wiring wiring;
  wiring.ranks = static_cast<int>(gpus.size());
  wiring.nodes = ranks_by_node(cluster, gpus);
  wiring.path = [&cluster, gpu](int from, int to) { return as_path(cluster.route(gpu(from), gpu(to))); };
  // A switch that reduces is in every node, or some way to one is broken.
  if (std::none_of(gpus.begin(), gpus.end(), [&](int g) { return cluster.to_switch(g).has_value(); }))
    return wiring;
  auto through = [&cluster](int g, std::optional<Route> route) {
    if (!route)
      throw InputError(fmt::format("{} has no way to and from a switch that reduces", cluster.gpu_name(g)),
                       "mend the link, give every node such a switch, or use algorithm: hierarchical");
    return as_path(*std::move(route));
  };
  wiring.to_switch = [&cluster, gpu, through](int r) { return through(gpu(r), cluster.to_switch(gpu(r))); };
  wiring.from_switch = [&cluster, gpu, through](int r) {
    return through(gpu(r), cluster.from_switch(gpu(r)));
  };
  return wiring;
}

std::vector<std::vector<int>> ring_orders(const Cluster& cluster, std::span<const int> gpus,
                                          std::optional<int> channels, bool search) {
  if (search) return find_rings(cluster, gpus, channels);
  std::vector<int> in_order(gpus.size());
  std::iota(in_order.begin(), in_order.end(), 0);
  return {static_cast<std::size_t>(channels.value_or(1)), in_order};
}

// The rings within each node, over local positions.
std::vector<std::vector<std::vector<int>>> node_orders(const Cluster& cluster, std::span<const int> gpus,
                                                       const Wiring& wiring, int channels, bool search) {
  std::vector<std::vector<std::vector<int>>> orders;
  std::vector<int> members;
  for (const auto& ranks : wiring.nodes) {
    members.clear();
    for (int rank : ranks) members.push_back(gpus[static_cast<std::size_t>(rank)]);
    if (members.size() == 1)
      orders.push_back(std::vector<std::vector<int>>(static_cast<std::size_t>(channels), {0}));
    else
      orders.push_back(ring_orders(cluster, members, channels, search));
  }
  return orders;
}

}  // namespace

bool Communication::is_alone() const {
  return !groups.empty() && std::ranges::all_of(groups, [](const auto& gpus) { return gpus.size() == 1; });
}

const CommunicatorAxis& Communication::axis_of(std::size_t group) const {
  return *std::find_if(axes.rbegin(), axes.rend(), [&](const auto& axis) { return axis.first <= group; });
}

BytesPerSecond Communication::capacity(int link) const {
  auto raw = cluster->link(link).bandwidth;
  if (nccl.empty()) return raw;
  bool is_between = cluster->cable(link).medium == Medium::network;
  std::optional<BytesPerSecond> most;
  // Groups of an axis are alike. One without PCIe within nodes puts nothing on it.
  for (const auto& axis : axes) {
    if (axis.first >= nccl.size()) continue;
    const auto& model = *nccl[axis.first];
    const auto& communicator = model.cost().communicator();
    if (is_between ? communicator.nodes == 1 : !communicator.pcie.has_value()) continue;
    most = std::max(most.value_or(BytesPerSecond(0)), model.ways(*cluster).link(link).bandwidth);
  }
  return most.value_or(raw);
}

std::vector<std::vector<int>> ranks_by_node(const Cluster& cluster, std::span<const int> gpus) {
  std::vector<std::vector<int>> nodes;
  std::map<int, std::size_t> place;
  for (std::size_t rank = 0; rank < gpus.size(); ++rank) {
    auto [it, is_new] = place.try_emplace(cluster.node_of(gpus[rank]), nodes.size());
    if (is_new) nodes.emplace_back();
    nodes[it->second].push_back(static_cast<int>(rank));
  }
  return nodes;
}

namespace {

CollectiveSchedule algorithm_schedule(const Cluster& cluster, std::span<const int> gpus,
                                      const CollectiveOptions& options) {
  Wiring wiring = wiring_of(cluster, gpus);
  int channels = options.channels.value_or(1);
  switch (options.algorithm) {
    case Algorithm::ring:
      return ring(Operation::all_reduce, wiring,
                  options.rings.empty() ? ring_orders(cluster, gpus, options.channels, options.search_rings)
                                        : options.rings);
    case Algorithm::tree:
      return double_binary_tree(wiring, channels);
    case Algorithm::halving_doubling:
      return halving_doubling(wiring);
    case Algorithm::hierarchical:
      return hierarchical(wiring, node_orders(cluster, gpus, wiring, channels, options.search_rings));
    case Algorithm::nvls:
      return nvls(wiring);
    case Algorithm::nvls_tree:
      wiring.heads = channel_heads(cluster, gpus, wiring.nodes);
      return nvls_tree(wiring);
  }
  DDPSIM_CHECK(false, "every algorithm has a schedule");
  return {};
}

CollectiveSchedule with_cut_flows(const Cluster& cluster, CollectiveSchedule schedule) {
  cut_flows(cluster, schedule);
  return schedule;
}

}  // namespace

CollectiveSchedule all_reduce_schedule(const Cluster& cluster, std::span<const int> gpus,
                                       const CollectiveOptions& options) {
  return with_cut_flows(cluster, algorithm_schedule(cluster, gpus, options));
}

CollectiveSchedule nccl_tree_schedule(const Cluster& cluster, std::span<const int> gpus,
                                      const std::vector<std::vector<int>>& rings) {
  Wiring wiring = wiring_of(cluster, gpus);
  wiring.heads = channel_heads(cluster, gpus, wiring.nodes);
  return with_cut_flows(
      cluster, chain_tree(wiring, rings.empty() ? ring_orders(cluster, gpus, std::nullopt, true) : rings));
}

CollectiveSchedule operation_schedule(const Cluster& cluster, std::span<const int> gpus,
                                      Operation operation) {
  Wiring wiring = wiring_of(cluster, gpus);
  if (sends_directly(operation)) return with_cut_flows(cluster, direct(operation, wiring));
  auto orders = ring_orders(cluster, gpus, std::nullopt, true);
  if (!is_chain(operation)) return with_cut_flows(cluster, ring(operation, wiring, orders));
  // Rings cut open at the root.
  for (auto& order : orders)
    std::rotate(order.begin(), std::find(order.begin(), order.end(), 0), order.end());
  return with_cut_flows(cluster, chain(operation, wiring, orders));
}

namespace {

// The stages of each operation one after the other, of which a collective runs its own.
struct GroupTraffic {
  CollectiveSchedule schedule;
  std::map<Operation, Communication::Stages> stages;
};

GroupTraffic traffic_of(const Communication& communication, std::size_t group, ChannelLimits& limits) {
  const auto& cluster = *communication.cluster;
  const auto& gpus = communication.groups[group];
  const auto* nccl = communication.nccl.empty() ? nullptr : communication.nccl[group].get();
  GroupTraffic traffic;
  auto& all = traffic.schedule;
  const auto& axis = communication.axis_of(group);
  for (auto operation : axis.operations) {
    auto first = all.stages.size();
    if (axis.servers > 0)
      for (auto& stage :
           with_cut_flows(cluster, server_transfers(wiring_of(cluster, gpus), axis.servers, operation))
               .stages)
        all.stages.push_back(std::move(stage));
    else if (has_algorithms(operation))
      all = nccl ? nccl->schedule(cluster, gpus, limits)
                 : all_reduce_schedule(cluster, gpus, communication.options);
    else if (nccl)
      all.stages.push_back(nccl->stage(cluster, gpus, operation, limits));
    else
      for (auto& stage : operation_schedule(cluster, gpus, operation).stages)
        all.stages.push_back(std::move(stage));
    traffic.stages[operation] = {first, all.stages.size()};
  }
  return traffic;
}

void with_groups(const Communication& communication,
                 const std::function<void(const Traffic&, const std::vector<GroupTraffic>&)>& use) {
  ChannelLimits limits(communication.cluster->links());
  std::vector<GroupTraffic> groups;
  for (std::size_t g = 0; g < communication.groups.size(); ++g)
    groups.push_back(traffic_of(communication, g, limits));
  Traffic traffic;
  for (std::size_t g = 0; g < groups.size(); ++g)
    traffic.groups.push_back({&groups[g].schedule, communication.labels[g]});
  for (const auto& flow : communication.background) traffic.background.push_back(flow.links);
  traffic.capacity = [&](int link) {
    return limits.has(link) ? limits.capacity(link) : communication.capacity(link);
  };
  use(traffic, groups);
}

}  // namespace

void fold_traffic(Communication& communication) {
  Doing doing("folding what shares links");
  with_groups(communication, [&](const Traffic& all, const std::vector<GroupTraffic>& groups) {
    communication.folded = fold(all);
    for (const auto& group : groups) communication.stages.push_back(group.stages);
    if (communication.nccl.empty()) return;
    for (const auto& group : communication.folded->groups) {
      Traffic one{{all.groups[group.members.front()]}, {}, all.capacity};
      communication.alone.push_back(fold(one));
    }
  });
}

void with_traffic(const Communication& communication, const std::function<void(const Traffic&)>& use) {
  with_groups(communication, [&](const Traffic& traffic, const auto&) { use(traffic); });
}

}  // namespace ddpsim
