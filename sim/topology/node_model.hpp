#pragma once
// One node of a cluster: its GPUs, NICs and switches, and the links inside it.
#include <optional>
#include <string>
#include <vector>

#include "sim/topology/cluster.hpp"

namespace ddpsim {

// A link inside a node, one direction.
struct Wire {
  int from;  // vertices of the node
  int to;
  Link link;
  Cable cable;
};

// Ids in it are local: vertices are its GPUs, then its NICs, then its switches; wire i is the node's link i.
struct NodeModel {
  int gpus = 0;
  int nics = 0;
  std::vector<std::string> names;  // of the vertices: "gpu0", "nic1", "nvswitch", "pcie0", "host0"
  std::vector<Wire> wires;
  std::vector<std::vector<int>> plugged;          // of each NIC: the vertices it is plugged into at no cost
  std::vector<int> affinity;                      // of each GPU: its NIC
  std::vector<std::vector<std::string>> devices;  // of each NIC: what its host calls it; empty: not known
  std::optional<int> reducing_switch;             // the vertex that adds up and multicasts
  std::vector<int> memory_of;                     // of each GPU: the vertex of its host's memory; empty: none
  nccl::PcieHost host;
  Link nic = {};  // one direction of a NIC's cable; latency NIC to NIC

  [[nodiscard]] int nic_vertex(int nic_index) const { return gpus + nic_index; }
  [[nodiscard]] std::optional<int> vertex_named(const std::string& name) const;  // or a NIC's device
};

}  // namespace ddpsim
