#pragma once
// What NCCL's messages go over where they leave NVLink: PCIe with or without peer-to-peer (paths.cc, p2p.cc,
// shm.cc), sockets (net_socket.cc, proxy.cc). Read in the releases 2.18.1 to 2.30.7; the rates are fitted.
#include <optional>

#include "sim/base/names.hpp"
#include "sim/base/units.hpp"
#include "sim/nccl/names.hpp"
#include "sim/nccl/version.hpp"

namespace ddpsim::nccl {

// How far apart two devices of a node are, as NCCL and `nvidia-smi topo -m` say it: below one PCIe switch,
// below several, below one host bridge or NUMA node, on different ones. As a limit `none` allows nothing.
enum class PathLevel { none, pix, pxb, phb, sys };
inline constexpr Names<PathLevel, 4> kPathLevelNames{
    {{"PIX", PathLevel::pix}, {"PXB", PathLevel::pxb}, {"PHB", PathLevel::phb}, {"SYS", PathLevel::sys}}};

// How far apart GPUs may be that NCCL lets read one another's memory (NCCL_P2P_LEVEL), if nobody says.
PathLevel peer_to_peer_level(const Version& version, Cpu cpu, int gpus_of_node);

// The host that PCIe leads to.
struct PcieHost {
  double payload = 1;                    // of a slot, large messages one way, over what its links say
  int generation = 0;                    // 0: not said
  std::optional<int> numa_domains = {};  // of a socket
  std::optional<PathLevel> level = {};   // NCCL_P2P_LEVEL; none: NCCL_P2P_DISABLE=1
};

// What messages between GPUs of a node take that leave NVLink.
struct Pcie {
  // Up to where they go from GPU to GPU; the others go through the memory of the receiver's host.
  PathLevel limit = PathLevel::sys;
  enum class Why { release, asked, driver } why = Why::release;  // it is that limit
  PathLevel farthest = PathLevel::pix;                           // of the rings' neighbours
  double share = 1;          // of PCIe's links, in rings with traffic both ways
  double memory_share = 1;   // of the links to memory
  BytesPerSecond flow = {};  // at most of one GPU to another, through memory that is interleaved; 0: any
  bool is_assumed = false;   // nobody says that it is, or is not
  BytesPerSecond ring = {};  // what all rings together get of a node's
  bool is_measured = false;  // share and ring are the machine's own
  int gpus = 0;              // of the node

  [[nodiscard]] bool through_host() const { return farthest > limit; }
  [[nodiscard]] bool is_interleaved() const { return flow > BytesPerSecond(0); }
  [[nodiscard]] bool operator==(const Pcie&) const = default;
};

// What is known before any way is: shares and flows are `pcie_of`'s.
struct PcieRule {
  Version version;
  Cpu cpu = Cpu::intel;
  bool driver_allows = true;  // peer-to-peer
  PcieHost host;
};
// `slot`: of the narrowest slot, what its links say.
Pcie pcie_of(const PcieRule& rule, int gpus_of_node, PathLevel farthest, BytesPerSecond slot);

// NCCL over TCP. Figures that are not given follow from the NIC's vendor.
struct Sockets {
  int threads = 0, sockets = 1;    // a channel: NCCL_SOCKET_NTHREADS, NCCL_NSOCKS_PERTHREAD
  BytesPerSecond flow = {};        // the most that a cloud gives one TCP connection; 0: what there is
  BytesPerSecond thread{4.0e9};    // that a process's proxy thread copies, sent and received
  BytesPerSecond channel{2.35e9};  // with helper threads
  [[nodiscard]] bool operator==(const Sockets&) const = default;
};
// Whose NICs, and what one connection gets there.
enum class Cloud { none, aws, aws_placement, gcp, azure };
inline constexpr Names<Cloud, 6> kCloudNames{{{"none", Cloud::none},
                                              {"aws", Cloud::aws},
                                              {"aws_placement", Cloud::aws_placement},
                                              {"aws-placement", Cloud::aws_placement},
                                              {"gcp", Cloud::gcp},
                                              {"azure", Cloud::azure}}};
// `in_pod`: behind a container's own network, whose device has no vendor.
Sockets sockets_of(Cloud cloud, bool in_pod = false);

inline constexpr Seconds kSocketLatency(50e-6);   // of a message between two nodes
inline constexpr double kSocketWireShare = 0.93;  // of a NIC
inline constexpr int kSocketChannels = 2;         // of a NIC: one, doubled

// Which of its limits a rate over sockets is.
struct SocketRate {
  BytesPerSecond rate;
  enum class Bound { wire, flows, threads } bound = Bound::wire;
};
// Through host memory, to a NIC that cannot read a GPU's, over 16 lanes of that generation.
BytesPerSecond host_rate(int pcie_generation);

// What a node sends over one NIC while it receives as much; one process sends and receives where it has one
// GPU.
SocketRate socket_rate(const Sockets& sockets, BytesPerSecond nic, int gpus_of_node);

}  // namespace ddpsim::nccl
