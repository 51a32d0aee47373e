#include <fmt/core.h>

#include "sim/base/counted.hpp"
#include "sim/base/limits.hpp"
#include "sim/text/topology_file.hpp"
#include "sim/text/topology_readers.hpp"
#include "sim/topology/topology_kinds.hpp"

namespace ddpsim {
namespace {

using config::MapReader;
using config::Value;

ClusterPlan::NodeKind node_kind(NodeModel model) {
  NodeWays ways(model);
  return {std::move(model), std::move(ways)};
}

void check_fits(const NodeModel& usual, const NodeModel& other, const Fabric& fabric,
                const SourceSpan& place) {
  if (other.gpus != usual.gpus)
    throw InputError(place,
                     fmt::format("a node of {} among nodes of {}: all have the same number",
                                 counted(other.gpus, "GPU"), usual.gpus),
                     fmt::format("write 'gpus: {}'", usual.gpus));
  bool none = other.nics == 0 && fabric.kind != Fabric::Kind::none;
  bool open_ring = fabric.kind == Fabric::Kind::ring && other.nics != usual.nics;
  bool no_rail = fabric.rails && other.nics > usual.nics;
  if (none || open_ring || no_rail)
    throw InputError(place,
                     fmt::format("a node of {} does not fit the fabric of nodes of {}",
                                 counted(other.nics, "NIC"), usual.nics),
                     fabric.kind == Fabric::Kind::ring ? "each rail is a ring through all nodes"
                     : none                            ? "a node needs a NIC to reach the others"
                                                       : "each NIC of a node has a rail of its own");
}

void read_others(const Value& list, ClusterPlan& plan) {
  for (const auto& item : config::items_of(list)) {
    MapReader reader(item, "other_nodes");
    reader.find("node");  // known, before "nodes" is missed
    const Value& numbers = reader.require("nodes");
    const Value& node = reader.require("node");
    auto model = read_node(node);
    reader.finish();
    check_fits(plan.kinds[0].model, model, plan.fabric, node.span);
    int kind = static_cast<int>(plan.kinds.size());
    for (const auto& number : config::items_of(numbers)) {
      auto index = static_cast<int>(config::as_integer(0, kLargestWorldSize - 1)(number));
      if (!plan.other_nodes.emplace(index, kind).second)
        throw InputError(number.span, fmt::format("node {} is described twice", index),
                         "remove one of the two");
    }
    plan.kinds.push_back(node_kind(std::move(model)));
  }
}

}  // namespace

std::shared_ptr<Topology> read_cluster(MapReader& file) {
  auto plan = std::make_shared<ClusterPlan>();
  const Value& node = file.require("node");
  plan->kinds.push_back(node_kind(read_node(node)));
  if (const Value* fabric = file.find("fabric")) {
    plan->fabric = read_fabric(*fabric);
    if (plan->kinds[0].model.nics == 0)
      throw InputError(node.span, "'node' lacks the key 'nics': the fabric joins NICs",
                       "add 'nics: {count: ..., bandwidth: ..., latency: ...}'");
  }
  if (const Value* others = file.find("other_nodes")) read_others(*others, *plan);
  auto overrides = file.optional("overrides", config::as_list(read_link_override));
  file.finish();
  auto network = plan->fabric.network;
  auto topology = make_cluster_topology(std::move(plan), overrides.value_or(std::vector<LinkOverride>{}));
  topology->network = network;
  return topology;
}

}  // namespace ddpsim
