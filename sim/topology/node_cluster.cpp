#include "sim/topology/node_cluster.hpp"

#include <algorithm>
#include <limits>

#include <fmt/core.h>

#include "sim/topology/shortest_ways.hpp"

namespace ddpsim {

NodeCluster::NodeCluster(std::shared_ptr<const ClusterPlan> plan, int gpus, std::optional<Hashing> hashing)
    : plan_(std::move(plan)),
      gpus_(gpus),
      gpus_per_node_(plan_->kinds[0].model.gpus),
      nodes_((gpus + gpus_per_node_ - 1) / gpus_per_node_),
      hashing_(hashing) {
  const auto& usual = plan_->kinds[0].model;
  usual_links_ = links_of(usual);
  fabric_base_ = nodes_ * usual_links_;
  for (const auto& [node, kind] : plan_->other_nodes) {
    if (node >= nodes_) break;
    int extra = fabric_base_ - nodes_ * usual_links_;
    others_.push_back({node, kind, node * usual_links_ + extra});
    fabric_base_ += links_of(plan_->kinds[kind].model) - usual_links_;
  }
  if (hashing_) even_ = std::make_unique<NodeCluster>(plan_, gpus);
  if (plan_->fabric.kind == Fabric::Kind::tree)
    tree_.emplace(plan_->fabric, nodes_, usual.nics, usual.nic.bandwidth,
                  hashing_ ? uplink_cables(plan_->fabric, nodes_, usual.nics) : UplinkCables());
  if (gpus_ % gpus_per_node_ != 0) keep_own_ways(nodes_ - 1);
  change({}, {});
}

// Cables of uplinks are links of their own only where flows are hashed onto them.
void NodeCluster::change_without_hashing(std::span<const LinkOverride> file,
                                         std::span<const LinkOverride> scenario) {
  auto known = [&](std::span<const LinkOverride> all) {
    std::vector<LinkOverride> rest;
    for (const auto& one : all)
      if (links_named(one.link, one.span).front() < fabric_base_) rest.push_back(one);
    return rest;
  };
  even_->change(known(file), known(scenario));
}

void NodeCluster::change(std::span<const LinkOverride> file, std::span<const LinkOverride> scenario) {
  changes_.add(*this, file);
  changes_.add(*this, scenario);
  if (even_) change_without_hashing(file, scenario);
  for (int id : changes_.links()) {
    has_changed_fabric_ = id >= fabric_base_;
    if (has_changed_fabric_) break;
    auto [node, index] = local(id);
    keep_own_ways(node);
    bool cable = index >= static_cast<int>(model(node).wires.size());
    if (cable && !tree_) keep_own_ways((node + 1) % nodes_);  // it is that node's cable, too
  }
  first_like_.assign(plan_->kinds.size(), -1);
  for (int node = 0; node < nodes_ && first_like_[0] < 0; ++node)
    if (kind_of(node) == 0 && !own_ways_.contains(node)) first_like_[0] = node;
  for (const auto& other : others_)
    if (first_like_[other.kind] < 0 && !own_ways_.contains(other.node)) first_like_[other.kind] = other.node;
}

void NodeCluster::keep_own_ways(int node) {
  int in_use = std::min(gpus_ - node * gpus_per_node_, gpus_per_node_);
  auto wire = [&, base = first_link(node)](int i) -> std::optional<Link> {
    if (changes_.broken(base + i)) return std::nullopt;
    return link(base + i);
  };
  own_ways_.insert_or_assign(node, NodeWays(model(node), in_use, wire));
}

std::string NodeCluster::gpu_name(int gpu) const {
  return fmt::format("node{}.gpu{}", gpu / gpus_per_node_, gpu % gpus_per_node_);
}

int NodeCluster::kind_of(int node) const {
  if (others_.empty()) return 0;
  auto it = std::lower_bound(others_.begin(), others_.end(), node,
                             [](const Other& other, int n) { return other.node < n; });
  return it != others_.end() && it->node == node ? it->kind : 0;
}

int NodeCluster::like_node(int node) const {
  if (!own_ways_.empty() && own_ways_.contains(node)) return node;
  return first_like_[kind_of(node)];
}

// In a ring of nodes each has neighbours of its own, and flows of each are hashed onto cables of their own.
int NodeCluster::twin_of(int node) const {
  int like = like_node(node);
  if (!tree_ || hashing_ || like == node) return node;
  int twin = std::max(like, tree_->first_beside(node));
  while (like_node(twin) != like) ++twin;
  return twin;
}

Cluster::LinkRange NodeCluster::own_links(int node) const {
  return tree_ ? LinkRange{first_link(node), links_of(model(node))} : LinkRange{};
}

std::optional<std::vector<int>> NodeCluster::switches_above(int node) const {
  if (!tree_ || hashing_ || has_changed_fabric_) return std::nullopt;
  return tree_->above(node);
}

const NodeWays& NodeCluster::ways(int node, bool whole) const {
  if (!whole && !own_ways_.empty())
    if (auto it = own_ways_.find(node); it != own_ways_.end()) return it->second;
  return plan_->kinds[kind_of(node)].ways;
}

// A node's own links come first, then its NICs' cables: out and in of each under switches, out in a ring of
// nodes, where the previous node's out is this one's in.
int NodeCluster::links_of(const NodeModel& model) const {
  int cables = plan_->fabric.kind == Fabric::Kind::tree                 ? 2
               : plan_->fabric.kind == Fabric::Kind::ring && nodes_ > 1 ? 1
                                                                        : 0;
  return static_cast<int>(model.wires.size()) + cables * model.nics;
}

int NodeCluster::first_link(int node) const {
  if (others_.empty()) return node * usual_links_;
  auto after = std::lower_bound(others_.begin(), others_.end(), node,
                                [](const Other& other, int n) { return other.node < n; });
  if (after != others_.end() && after->node == node) return after->first_link;
  if (after == others_.begin()) return node * usual_links_;
  const auto& other = *std::prev(after);
  return other.first_link + links_of(plan_->kinds[other.kind].model) + (node - other.node - 1) * usual_links_;
}

NodeCluster::LocalLink NodeCluster::local(int id) const {
  auto after = std::upper_bound(others_.begin(), others_.end(), id,
                                [](int link, const Other& other) { return link < other.first_link; });
  if (after == others_.begin()) return {id / usual_links_, id % usual_links_};
  const auto& other = *std::prev(after);
  int beyond = id - other.first_link - links_of(plan_->kinds[other.kind].model);
  if (beyond < 0) return {other.node, id - other.first_link};
  return {other.node + 1 + beyond / usual_links_, beyond % usual_links_};
}

// A NIC's latency counts NIC to NIC: half of it on the cable to the switch and half on the one from it, all
// of it on a cable between two NICs.
Link NodeCluster::described(int id) const {
  if (id >= fabric_base_) return tree_->link(id - fabric_base_);
  auto [node, index] = local(id);
  const auto& node_model = model(node);
  if (index < static_cast<int>(node_model.wires.size())) return node_model.wires[index].link;
  return {node_model.nic.bandwidth, tree_ ? node_model.nic.latency / 2.0 : node_model.nic.latency};
}

Cable NodeCluster::cable(int id) const {
  if (id >= fabric_base_) return {Medium::network};
  auto [node, index] = local(id);
  const auto& wires = model(node).wires;
  return index < static_cast<int>(wires.size()) ? wires[index].cable : Cable{Medium::network, 1};
}

Link NodeCluster::link(int id) const {
  return changes_.applied(id, described(id));
}

std::optional<int> NodeCluster::nic_out(int node, int nic) const {
  int inside = static_cast<int>(model(node).wires.size());
  if (tree_) return first_link(node) + inside + 2 * nic;
  if (plan_->fabric.kind == Fabric::Kind::ring && nodes_ > 1) return first_link(node) + inside + nic;
  return std::nullopt;
}

std::optional<int> NodeCluster::nic_in(int node, int nic) const {
  if (tree_) return *nic_out(node, nic) + 1;
  return nic_out((node + nodes_ - 1) % nodes_, nic);
}

std::optional<Route> NodeCluster::one_link(int gpu, int from_vertex, int to_vertex) const {
  int node = node_of(gpu);
  auto id = link_between({node, from_vertex}, {node, to_vertex});
  if (!id || changes_.broken(*id)) return std::nullopt;
  auto figures = link(*id);
  return Route{{*id}, figures.latency, figures.bandwidth};
}

std::optional<Route> NodeCluster::to_switch(int gpu) const {
  auto reducing = model(node_of(gpu)).reducing_switch;
  return reducing ? one_link(gpu, gpu % gpus_per_node_, *reducing) : std::nullopt;
}

std::optional<Route> NodeCluster::from_switch(int gpu) const {
  auto reducing = model(node_of(gpu)).reducing_switch;
  return reducing ? one_link(gpu, *reducing, gpu % gpus_per_node_) : std::nullopt;
}

}  // namespace ddpsim
