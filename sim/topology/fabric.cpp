#include "sim/topology/fabric.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "sim/base/source.hpp"
#include "sim/topology/names.hpp"

namespace ddpsim {
namespace {

int groups(int things, int size) {
  return (things + size - 1) / size;
}

// NICs below a leaf.
int ports_of(const Fabric& fabric, int nodes, int nics_per_node) {
  return (fabric.nodes_per_leaf > 0 ? fabric.nodes_per_leaf : nodes) * (fabric.rails ? 1 : nics_per_node);
}

int whole_cables(int stated, int below, double oversubscription, const char* level, const char* as_written) {
  if (stated > 0) return stated;
  double cables = below / oversubscription;
  if (std::abs(cables - std::round(cables)) > 1e-6)
    throw InputError(
        fmt::format("{} cables below each {} and an oversubscription of {:g} leave {:.4g} above it, "
                    "which is no whole number",
                    below, level, oversubscription, cables),
        fmt::format("say in the topology's 'fabric' how many there are: 'uplinks: {}'", as_written));
  return static_cast<int>(std::lround(cables));
}

}  // namespace

void throw_no_uplinks() {
  throw InputError(
      "the topology has no uplinks of switches, onto which flows could be hashed",
      "remove cluster.hashing, or use a fabric of kind fat_tree, or rail_optimized with a spine");
}

UplinkCables uplink_cables(const Fabric& fabric, int nodes, int nics_per_node) {
  if (fabric.kind != Fabric::Kind::tree || fabric.levels == 1) throw_no_uplinks();
  UplinkCables cables;
  cables.of_leaf = whole_cables(fabric.leaf_uplinks, ports_of(fabric, nodes, nics_per_node),
                                fabric.leaf_oversubscription, "leaf", fabric.levels == 3 ? "[N, M]" : "N");
  if (fabric.levels == 3)
    cables.of_pod = whole_cables(fabric.pod_uplinks, cables.of_leaf * fabric.leaves_per_pod,
                                 fabric.pod_oversubscription, "pod", "[N, M]");
  return cables;
}

SwitchTree::SwitchTree(const Fabric& fabric, int nodes, int nics_per_node, BytesPerSecond nic_bandwidth,
                       const UplinkCables& cables)
    : rails_(fabric.rails ? nics_per_node : 1),
      levels_(fabric.levels),
      nodes_per_leaf_(fabric.nodes_per_leaf > 0 ? fabric.nodes_per_leaf : nodes),
      leaves_per_pod_(std::max(fabric.leaves_per_pod, 1)),
      leaves_(groups(nodes, nodes_per_leaf_) * rails_),
      pods_(levels_ == 3 ? groups(leaves_, leaves_per_pod_) : 0),
      rail_names_(fabric.rails),
      cables_(cables) {
  auto of_leaf = nic_bandwidth * ports_of(fabric, nodes, nics_per_node) / fabric.leaf_oversubscription;
  auto of_pod = of_leaf * leaves_per_pod_ / fabric.pod_oversubscription;
  leaf_uplink_ = {of_leaf / cables_.of_leaf, fabric.hop_latency};
  pod_uplink_ = {of_pod / cables_.of_pod, fabric.hop_latency};
}

std::vector<int> SwitchTree::above(int node) const {
  std::vector<int> switches;
  for (int rail = 0; rail < rails_; ++rail) {
    switches.push_back(leaf_of(node, rail));
    if (levels_ == 3) switches.push_back(parent(switches.back()));
  }
  return switches;
}

int SwitchTree::parent(int switch_index) const {
  return switch_index < leaves_ && levels_ == 3 ? leaves_ + pod_of(switch_index) : leaves_ + pods_;
}

int SwitchTree::first_link(int switch_index) const {
  if (switch_index < leaves_) return 2 * switch_index * cables_.of_leaf;
  return first_of_pods() + 2 * (switch_index - leaves_) * cables_.of_pod;
}

SwitchTree::Ends SwitchTree::ends(int link) const {
  bool of_leaf = link < first_of_pods();
  int cables = of_leaf ? cables_.of_leaf : cables_.of_pod;
  int index = of_leaf ? link : link - first_of_pods();
  int below = (of_leaf ? 0 : leaves_) + index / (2 * cables);
  int cable = index % (2 * cables) / 2;
  return index % 2 == 0 ? Ends{below, parent(below), cable} : Ends{parent(below), below, cable};
}

std::optional<int> SwitchTree::link_between(int from_switch, int to_switch, int cable) const {
  int top = leaves_ + pods_;
  if (levels_ == 1) return std::nullopt;
  bool upwards = from_switch < top && parent(from_switch) == to_switch;
  bool downwards = to_switch < top && parent(to_switch) == from_switch;
  int below = upwards ? from_switch : to_switch;
  if (!(upwards || downwards) || cable >= cables(below)) return std::nullopt;
  return upwards ? up(below, cable) : down(below, cable);
}

std::string SwitchTree::link_name(int link) const {
  auto [from, to, cable] = ends(link);
  auto names = name(from) + ">" + name(to);
  return cables(std::min(from, to)) > 1 ? fmt::format("{}.{}", names, cable) : names;
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
  Climb climb{{from_leaf}, {to_leaf}, 1};
  if (levels_ == 2 || pod_of(from_leaf) == pod_of(to_leaf)) return climb;
  climb.from[1] = leaves_ + pod_of(from_leaf);
  climb.to[1] = leaves_ + pod_of(to_leaf);
  climb.levels = 2;
  return climb;
}

}  // namespace ddpsim
