#pragma once
// A group of ranks as NCCL's tuner sees it, and what is asked of it.
#include <optional>
#include <vector>

#include "sim/base/operation.hpp"
#include "sim/base/units.hpp"
#include "sim/nccl/channel_graphs.hpp"
#include "sim/nccl/names.hpp"
#include "sim/nccl/transport.hpp"
#include "sim/nccl/version.hpp"

namespace ddpsim::nccl {

// What a message over InfiniBand takes, which NCCL's constants and curves fitted to such networks have in
// them.
inline constexpr Seconds kInfiniBandLatency(3e-6);

// One rank a GPU, all GPUs and CPUs alike. GPUs of several hosts in one NVLink domain (MNNVL) are one node,
// as NCCL counts them since 2.20.3.
struct Communicator {
  Version version = kDefaultVersion;
  Gpu gpu = Gpu::hopper;
  Cpu cpu = Cpu::intel;
  int ranks = 0, nodes = 1;
  bool nvlink = true;         // its rings stay on NVLink within a node
  bool same_channels = true;  // its rings visit the GPUs in one order (sameChannels)
  Graph ring, tree;
  bool plain_tree = false;    // across nodes its trees are of the pattern TREE
  bool joins_racks = false;   // NVLink domains of more GPUs than a host has, by a network
  std::optional<Graph> nvls;  // where every node's switch reduces and multicasts
  int collnet_heads = 0;      // GPUs of a node with a NIC of their own in a network that reduces (SHARP)
  Seconds tuner_nic_latency;  // as NCCL's network plugin reports it
  // Not for the tuner, which counts otherwise, but for the cost model, by data sheets:
  Seconds nic_latency = kInfiniBandLatency;  // that a message takes between two NICs
  BytesPerSecond nvlink_peak;                // of all rings within a node together
  BytesPerSecond ring_peak;                  // of all rings together, their narrowest links
  BytesPerSecond node_peak;                  // of all rings within a node likewise; 0: one GPU a node
  std::optional<Pcie> pcie = {};             // where rings leave NVLink within nodes
  BytesPerSecond network_peak = {};          // of all rings together, their narrowest links between nodes
  std::optional<Sockets> sockets = {};       // where nodes are joined by TCP
  // What all rings together get between nodes of sockets, or of host memory without GPUDirect; 0: any.
  BytesPerSecond network_limit = {};
  bool direct_nics = true;                                   // NICs read GPUs' memory (GPUDirect)
  SocketRate::Bound socket_bound = SocketRate::Bound::wire;  // what holds up sockets

  [[nodiscard]] bool operator==(const Communicator&) const = default;
};

// Inside a node all of whose rings stay on NVLink.
inline bool is_nvlink_node(const Communicator& c) {
  return c.nodes == 1 && c.nvlink && c.nvlink_peak > BytesPerSecond(0);
}

inline constexpr int kMostGpusOfHost = 8;  // under one NVLink switch; racks have more

// What is left to choose from (NCCL_ALGO, NCCL_PROTO); empty: whatever NCCL enables.
struct Allowed {
  std::vector<Algorithm> algorithms;
  std::vector<Protocol> protocols;
  bool collnet = false;    // NCCL_COLLNET_ENABLE=1
  bool symmetric = false;  // buffers are in symmetric windows
};

// Whether an algorithm has the network reduce (SHARP).
inline bool is_collnet(Algorithm algorithm, int nodes) {
  return algorithm == Algorithm::collnet_direct || algorithm == Algorithm::collnet_chain ||
         (algorithm == Algorithm::nvls && nodes > 1);
}

inline bool is_symmetric(Algorithm algorithm) {
  return algorithm == Algorithm::symmetric || algorithm == Algorithm::symmetric_multicast;
}

// What the ranks do together; reductions are sums.
struct Collective {
  Operation operation{};
  Element element = Element::float32;
};

}  // namespace ddpsim::nccl
