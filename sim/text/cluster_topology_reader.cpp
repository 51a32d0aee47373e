#include <algorithm>

#include <fmt/core.h>

#include "sim/base/counted.hpp"
#include "sim/text/file_rows.hpp"
#include "sim/text/topology_readers.hpp"
#include "sim/topology/topology_kinds.hpp"

namespace ddpsim::cluster_keys {
namespace {

using namespace keys;

struct ClusterFile : TopologyFile {
  Value node = {};
  std::optional<Value> fabric = {};
  std::vector<Value> others = {};
};

struct OtherNodes {
  std::vector<int> nodes = {};
  Value node = {};
};

Type<ClusterFile> cluster_rows() {
  return nested(topology_rows<ClusterFile>("cluster")
                    .needs<&ClusterFile::node>("node", any(), "What is in a node")
                    .key<&ClusterFile::fabric>("fabric", maybe(any()), "What joins their NICs")
                    .key<&ClusterFile::others>("other_nodes", list(any()), "Nodes that differ")
                    .key<&TopologyFile::overrides>("overrides", link_override_rows(), "Links that differ"));
}

Type<OtherNodes> other_rows() {
  return nested(Rows<OtherNodes>("other_nodes")
                    .needs<&OtherNodes::nodes>("nodes", list(whole(0, kLargestWorldSize - 1)), "Which")
                    .needs<&OtherNodes::node>("node", any(), "What is in them"));
}

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

bool has_xgmi(const ClusterPlan& plan) {
  return std::ranges::any_of(plan.kinds, [](const ClusterPlan::NodeKind& kind) {
    return std::ranges::any_of(kind.model.wires,
                               [](const Wire& wire) { return wire.cable.medium == Medium::xgmi; });
  });
}

void read_others(const std::vector<Value>& list, ClusterPlan& plan) {
  static const auto rows = other_rows();
  for (const auto& item : list) {
    keys::Places places;
    auto others = read_alone(rows, item, places);
    auto model = read_node(others.node);
    check_fits(plan.kinds[0].model, model, plan.fabric, others.node.span);
    int kind = static_cast<int>(plan.kinds.size());
    for (std::size_t i = 0; i < others.nodes.size(); ++i)
      if (!plan.other_nodes.emplace(others.nodes[i], kind).second)
        throw InputError(places.at(fmt::format("nodes[{}]", i)),
                         fmt::format("node {} is described twice", others.nodes[i]), "remove one of the two");
    plan.kinds.push_back(node_kind(std::move(model)));
  }
}

}  // namespace
}  // namespace ddpsim::cluster_keys

namespace ddpsim {

file_rows::Codec file_rows::cluster() {
  return cluster_keys::cluster_rows().codec;
}
file_rows::Codec file_rows::other_nodes() {
  return cluster_keys::other_rows().codec;
}

std::shared_ptr<Topology> read_cluster(const config::Value& root, TopologyFile& common) {
  using namespace cluster_keys;
  static const auto rows = cluster_rows();
  auto file = read_alone(rows, root);
  common = file;
  auto plan = std::make_shared<ClusterPlan>();
  plan->kinds.push_back(node_kind(read_node(file.node)));
  if (file.fabric) {
    plan->fabric = read_fabric(*file.fabric);
    if (plan->kinds[0].model.nics == 0)
      throw InputError(file.node.span, "'node' lacks the key 'nics': the fabric joins NICs",
                       "add 'nics: {count: ..., bandwidth: ..., latency: ...}'");
  }
  read_others(file.others, *plan);
  auto network = plan->fabric.network;
  auto cloud = plan->fabric.cloud;
  bool joined_by_xgmi = has_xgmi(*plan);
  auto topology = make_cluster_topology(std::move(plan), std::move(file.overrides));
  topology->network = network;
  topology->cloud = cloud;
  topology->has_xgmi = joined_by_xgmi;
  return topology;
}

}  // namespace ddpsim
