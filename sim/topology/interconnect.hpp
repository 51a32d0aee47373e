#pragma once
// How the GPUs of a node are joined, as described in a file, and what that makes of a node.
#include <optional>
#include <string>
#include <vector>

#include "sim/topology/node_model.hpp"

namespace ddpsim {

inline constexpr int kMostGpusPerNode = 128;
inline constexpr int kMostNicsPerNode = 128;

// A tree of PCIe switches, `gpus_per_switch` GPUs below each; switches hang off the host bridge of their
// socket; all host bridges are joined in pairs. Latencies are of each link and direction.
struct PcieTree {
  Link gpu;  // GPU to switch
  int gpus_per_switch = 0;
  int switches_per_socket = 0;
  std::optional<Link> host;  // switch to host bridge; absent: there is one switch and no host bridge
  Medium host_medium = Medium::host_bridge;  // numa_node: each switch has a host bridge of its own
  std::optional<Link> socket;                // host bridge to host bridge; absent: there is one
  std::optional<BytesPerSecond> memory;      // of a socket, what its data sheet says; absent: not known
};

struct NvlinkPair {
  int a;
  int b;
  int count;
};

struct Interconnect {
  enum class Kind { none, nvswitch, fully_connected, ring, nvlink_mesh, xgmi_mesh, pcie };
  Kind kind = Kind::none;
  // Per link and direction; of nvswitch: latency GPU to GPU.
  Link link = {};
  int count = 0;                  // of nvswitch: links a GPU; 0: one of unknown make-up
  bool multicast = false;         // of nvswitch: it adds up and multicasts (NVLink SHARP)
  std::vector<NvlinkPair> pairs;  // of the meshes
  std::optional<PcieTree> pcie;   // of pcie, and of the meshes for what they do not join
  nccl::PcieHost host = {};
};

struct Nics {
  int count = 0;
  Link cable = {};                                     // per NIC and direction; latency NIC to NIC
  std::vector<int> affinity;                           // of each GPU: its NIC
  std::vector<std::vector<std::string>> devices = {};  // of each NIC, one a port: "mlx5_3"; empty: not known
};

NodeModel make_node(int gpus, const Interconnect& interconnect, const Nics& nics);

}  // namespace ddpsim
