#pragma once
// What joins the NICs of nodes, as arithmetic: nothing here grows with the number of nodes.
#include <optional>
#include <string>

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
  // What each switch after the first adds; stands on the links between switches. (What the first one costs is
  // part of the NIC-to-NIC latency.)
  Seconds hop_latency = {};
  std::optional<NetworkClass> network;
};

// A tree of switches over a number of nodes. A switch's uplinks are one link each way with the bandwidth of
// all of them. Link ids count from 0: up and down of each leaf, then of each pod.
class SwitchTree {
 public:
  SwitchTree(const Fabric& fabric, int nodes, int nics_per_node, BytesPerSecond nic_bandwidth);

  [[nodiscard]] int leaf_of(int node, int nic) const {
    return node / nodes_per_leaf_ * rails_ + (rails_ > 1 ? nic : 0);
  }
  // The first node at the same leaves.
  [[nodiscard]] int first_beside(int node) const { return node / nodes_per_leaf_ * nodes_per_leaf_; }
  [[nodiscard]] int switches() const { return leaves_ + pods_ + (levels_ > 1 ? 1 : 0); }
  [[nodiscard]] int leaves() const { return leaves_; }
  [[nodiscard]] int links() const { return levels_ == 1 ? 0 : 2 * (leaves_ + pods_); }
  [[nodiscard]] Link link(int id) const { return id < 2 * leaves_ ? leaf_uplink_ : pod_uplink_; }

  // The switches a link joins. Switches: leaves, then pods, then the spine.
  struct Ends {
    int from;
    int to;
  };
  [[nodiscard]] Ends ends(int link) const;
  [[nodiscard]] std::optional<int> link_between(int from_switch, int to_switch) const;
  [[nodiscard]] std::string name(int switch_index) const;  // "rail2.leaf0", "leaf0", "pod1", "spine"
  [[nodiscard]] std::optional<int> switch_named(const std::string& name) const;

  // The links between two leaves, at most four.
  struct Climb {
    int links[4];
    int count = 0;
  };
  [[nodiscard]] std::optional<Climb> between(int from_leaf, int to_leaf) const;

 private:
  [[nodiscard]] int pod_of(int leaf) const { return leaf / leaves_per_pod_; }
  [[nodiscard]] int parent(int switch_index) const;

  int rails_, levels_, nodes_per_leaf_, leaves_per_pod_, leaves_, pods_;
  bool rail_names_;
  Link leaf_uplink_, pod_uplink_;
};

}  // namespace ddpsim
