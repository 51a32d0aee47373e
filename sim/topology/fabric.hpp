#pragma once
// What joins the NICs of nodes, as arithmetic: nothing here grows with the number of nodes.
#include <optional>
#include <string>
#include <vector>

#include "sim/base/names.hpp"
#include "sim/topology/cluster.hpp"

namespace ddpsim {

// What a fabric is built of.
enum class NetworkClass { infiniband, roce, efa, slingshot, ethernet };
inline constexpr Names<NetworkClass, 5> kNetworkClassNames{{{"infiniband", NetworkClass::infiniband},
                                                            {"roce", NetworkClass::roce},
                                                            {"efa", NetworkClass::efa},
                                                            {"slingshot", NetworkClass::slingshot},
                                                            {"ethernet", NetworkClass::ethernet}}};

// As described in a file.
struct Fabric {
  // tree: leaf switches serve groups of nodes; above them a spine, or pods and a spine.
  // ring: each NIC is cabled to the NIC of the same index in the next node, the last node's to the first's.
  enum class Kind { none, tree, ring };
  Kind kind = Kind::none;
  bool rails = false;      // tree: one leaf a NIC index and group of nodes, instead of one a group
  int levels = 2;          // tree: 1 leaves only, 2 with a spine, 3 with pods in between
  int nodes_per_leaf = 0;  // tree: 0 for all
  int leaves_per_pod = 0;  // tree of 3 levels
  double leaf_oversubscription = 1;
  double pod_oversubscription = 1;
  // Cables that the uplinks are; 0: each as fast as a NIC, as many as the oversubscription leaves.
  int leaf_uplinks = 0;
  int pod_uplinks = 0;
  // What each switch after the first adds; stands on the links between switches. (What the first one costs is
  // part of the NIC-to-NIC latency.)
  Seconds hop_latency = {};
  std::optional<NetworkClass> network;
  nccl::Cloud cloud = nccl::Cloud::none;
};

// How many links a switch's uplinks are. One: all of them together, over which flows spread evenly.
struct UplinkCables {
  int of_leaf = 1;
  int of_pod = 1;
};
// Of a tree whose flows go over single cables. Throws InputError (without a place) where there are no
// uplinks, or no whole number of them.
[[noreturn]] void throw_no_uplinks();
UplinkCables uplink_cables(const Fabric& fabric, int nodes, int nics_per_node);

// A tree of switches over a number of nodes. Link ids count from 0: up and down of each cable of each leaf,
// then of each pod.
class SwitchTree {
 public:
  SwitchTree(const Fabric& fabric, int nodes, int nics_per_node, BytesPerSecond nic_bandwidth,
             const UplinkCables& cables = {});

  [[nodiscard]] int leaf_of(int node, int nic) const {
    return node / nodes_per_leaf_ * rails_ + (rails_ > 1 ? nic : 0);
  }
  // The first node at the same leaves.
  [[nodiscard]] int first_beside(int node) const { return node / nodes_per_leaf_ * nodes_per_leaf_; }
  // All switches above a node: of each rail the leaf, and what is above that.
  [[nodiscard]] std::vector<int> above(int node) const;
  [[nodiscard]] int switches() const { return leaves_ + pods_ + (levels_ > 1 ? 1 : 0); }
  [[nodiscard]] int leaves() const { return leaves_; }
  [[nodiscard]] int links() const { return levels_ == 1 ? 0 : first_of_pods() + 2 * pods_ * cables_.of_pod; }
  [[nodiscard]] Link link(int id) const { return id < first_of_pods() ? leaf_uplink_ : pod_uplink_; }

  // The switches a link joins, and which of the cables between them it is. Switches: leaves, then pods, then
  // the spine.
  struct Ends {
    int from;
    int to;
    int cable;
  };
  [[nodiscard]] Ends ends(int link) const;
  [[nodiscard]] std::optional<int> link_between(int from_switch, int to_switch, int cable) const;
  // Of a switch that has uplinks.
  [[nodiscard]] int cables(int switch_index) const {
    return switch_index < leaves_ ? cables_.of_leaf : cables_.of_pod;
  }
  [[nodiscard]] int up(int switch_index, int cable) const { return first_link(switch_index) + 2 * cable; }
  [[nodiscard]] int down(int switch_index, int cable) const { return up(switch_index, cable) + 1; }
  // "leaf0>spine" and, of several cables, "leaf0>spine.3"
  [[nodiscard]] std::string link_name(int link) const;
  [[nodiscard]] std::string name(int switch_index) const;  // "rail2.leaf0", "leaf0", "pod1", "spine"
  [[nodiscard]] std::optional<int> switch_named(const std::string& name) const;

  // The way from one leaf to another: up from the first switches, lowest first, and down to the second ones.
  struct Climb {
    int from[2];
    int to[2];
    int levels = 0;
    [[nodiscard]] int links() const { return 2 * levels; }
  };
  [[nodiscard]] std::optional<Climb> between(int from_leaf, int to_leaf) const;

 private:
  [[nodiscard]] int pod_of(int leaf) const { return leaf / leaves_per_pod_; }
  [[nodiscard]] int parent(int switch_index) const;
  [[nodiscard]] int first_of_pods() const { return 2 * leaves_ * cables_.of_leaf; }
  [[nodiscard]] int first_link(int switch_index) const;

  int rails_, levels_, nodes_per_leaf_, leaves_per_pod_, leaves_, pods_;
  bool rail_names_;
  UplinkCables cables_;
  Link leaf_uplink_, pod_uplink_;
};

}  // namespace ddpsim
