#include "sim/topology/fabric.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "sim/topology/names.hpp"

namespace ddpsim {
namespace {

int groups(int things, int size) {
  return (things + size - 1) / size;
}

}  // namespace

SwitchTree::SwitchTree(const Fabric& fabric, int nodes, int nics_per_node, BytesPerSecond nic_bandwidth)
    : rails_(fabric.rails ? nics_per_node : 1),
      levels_(fabric.levels),
      nodes_per_leaf_(fabric.nodes_per_leaf > 0 ? fabric.nodes_per_leaf : nodes),
      leaves_per_pod_(std::max(fabric.leaves_per_pod, 1)),
      leaves_(groups(nodes, nodes_per_leaf_) * rails_),
      pods_(levels_ == 3 ? groups(leaves_, leaves_per_pod_) : 0),
      rail_names_(fabric.rails) {
  int ports = nodes_per_leaf_ * (fabric.rails ? 1 : nics_per_node);
  leaf_uplink_ = {nic_bandwidth * ports / fabric.leaf_oversubscription, fabric.hop_latency};
  pod_uplink_ = {leaf_uplink_.bandwidth * leaves_per_pod_ / fabric.pod_oversubscription, fabric.hop_latency};
}

int SwitchTree::parent(int switch_index) const {
  return switch_index < leaves_ && levels_ == 3 ? leaves_ + pod_of(switch_index) : leaves_ + pods_;
}

SwitchTree::Ends SwitchTree::ends(int link) const {
  int below = link / 2;
  return link % 2 == 0 ? Ends{below, parent(below)} : Ends{parent(below), below};
}

std::optional<int> SwitchTree::link_between(int from_switch, int to_switch) const {
  int top = leaves_ + pods_;
  if (levels_ == 1) return std::nullopt;
  if (from_switch < top && parent(from_switch) == to_switch) return 2 * from_switch;
  if (to_switch < top && parent(to_switch) == from_switch) return 2 * to_switch + 1;
  return std::nullopt;
}

std::string SwitchTree::name(int switch_index) const {
  if (switch_index == leaves_ + pods_) return "spine";
  if (switch_index >= leaves_) return fmt::format("pod{}", switch_index - leaves_);
  if (rail_names_) return fmt::format("rail{}.leaf{}", switch_index % rails_, switch_index / rails_);
  return fmt::format("leaf{}", switch_index);
}

std::optional<int> SwitchTree::switch_named(const std::string& name) const {
  if (name == "spine" && levels_ > 1) return leaves_ + pods_;
  if (auto pod = number_after("pod", name); pod && *pod < pods_) return leaves_ + *pod;
  if (!rail_names_) {
    auto leaf = number_after("leaf", name);
    return leaf && *leaf < leaves_ ? leaf : std::nullopt;
  }
  auto dot = name.find('.');
  if (dot == std::string::npos) return std::nullopt;
  auto rail = number_after("rail", name.substr(0, dot));
  auto group = number_after("leaf", name.substr(dot + 1));
  if (!rail || !group || *rail >= rails_ || *group >= leaves_ / rails_) return std::nullopt;
  return *group * rails_ + *rail;
}

std::optional<SwitchTree::Climb> SwitchTree::between(int from_leaf, int to_leaf) const {
  if (from_leaf == to_leaf) return Climb{};
  if (levels_ == 1) return std::nullopt;
  if (levels_ == 2 || pod_of(from_leaf) == pod_of(to_leaf)) return Climb{{2 * from_leaf, 2 * to_leaf + 1}, 2};
  int from_pod = leaves_ + pod_of(from_leaf);
  int to_pod = leaves_ + pod_of(to_leaf);
  return Climb{{2 * from_leaf, 2 * from_pod, 2 * to_pod + 1, 2 * to_leaf + 1}, 4};
}

}  // namespace ddpsim
