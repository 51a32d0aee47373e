#include "sim/nccl/transport.hpp"

#include <algorithm>
#include <array>

namespace ddpsim::nccl {
namespace {

// Of PCIe's payload, in rings with traffic both ways. Peer to peer: six published servers, generations 3 to
// 5, 2 to 8 GPUs, with and without switches (0.70 to 0.86). Through host memory that is not interleaved: six
// (0.32 to 0.60). measurements/transports/pcie.csv has the rows.
constexpr double kPeerShare = 0.78, kHostShare = 0.47;
constexpr double kMemoryShare = 0.9;  // of a data sheet's; binds in no row
// Of one flow through memory that is interleaved over the dies of a socket: of rings within a socket (two
// A40, four L40S: 3.9, 5.1) and over both (four and eight A40, eight L40S, four RTX 4090: 1.4 to 2.6).
constexpr BytesPerSecond kFlowWithinSocket(4.5e9), kFlowAcrossSockets(1.7e9);

// A chunk of NCCL_BUFFSIZE / NCCL_STEPS is cut into tasks of at least NCCL_SOCKET_MIN_TASKSIZE, one a socket.
constexpr int kTasksOfChunk = 512 / 64;

constexpr BytesPerSecond kAwsFlow(0.625e9), kAwsPlacementFlow(1.25e9);  // EC2's user guide: 5 and 10 Gb/s

// Where nobody says it, by a slot of 16 lanes: NCCL counts 12, 24 and 48 GB/s.
int generation_of(const PcieHost& host, BytesPerSecond slot) {
  if (host.generation > 0) return host.generation;
  return slot < BytesPerSecond(18e9) ? 3 : slot < BytesPerSecond(36e9) ? 4 : 5;
}

// EPYCs before 9004 whose socket is one NUMA domain (NPS1), as such servers come.
bool is_interleaved_host(const PcieRule& rule, BytesPerSecond slot) {
  if (rule.cpu != Cpu::amd && rule.cpu != Cpu::other) return false;
  int generation = generation_of(rule.host, slot);
  if (rule.host.numa_domains) return *rule.host.numa_domains == 1 && generation <= 4;
  return generation == 4;
}

}  // namespace

// Since 2.23.4 as on Intel, but for two GPUs.
PathLevel peer_to_peer_level(const Version& version, Cpu cpu, int gpus_of_node) {
  if (cpu != Cpu::amd)
    return cpu == Cpu::intel || version >= Version{2, 23, 4} ? PathLevel::pxb : PathLevel::sys;
  return version < Version{2, 23, 4} || gpus_of_node <= 2 ? PathLevel::sys : PathLevel::pxb;
}

Pcie pcie_of(const PcieRule& rule, int gpus_of_node, PathLevel farthest, BytesPerSecond slot) {
  Pcie pcie;
  pcie.gpus = gpus_of_node;
  pcie.farthest = farthest;
  pcie.limit = peer_to_peer_level(rule.version, rule.cpu, gpus_of_node);
  if (!rule.driver_allows) {
    pcie.limit = PathLevel::none;
    pcie.why = Pcie::Why::driver;
  }
  if (rule.host.level) {
    pcie.limit = *rule.host.level;
    pcie.why = Pcie::Why::asked;
  }
  pcie.memory_share = kMemoryShare;
  pcie.share = rule.host.payload * (pcie.through_host() ? kHostShare : kPeerShare);
  if (pcie.through_host() && is_interleaved_host(rule, slot)) {
    pcie.flow = farthest == PathLevel::sys ? kFlowAcrossSockets : kFlowWithinSocket;
    pcie.is_assumed = !rule.host.numa_domains;
  }
  return pcie;
}

Sockets sockets_of(Cloud cloud, bool in_pod) {
  Sockets sockets;
  if (cloud == Cloud::aws || cloud == Cloud::aws_placement) {
    sockets.flow = cloud == Cloud::aws ? kAwsFlow : kAwsPlacementFlow;
    if (!in_pod) sockets.threads = 2, sockets.sockets = 8;
  }
  if (cloud == Cloud::gcp && !in_pod) sockets.threads = 4;
  return sockets;
}

BytesPerSecond host_rate(int pcie_generation) {
  return kHostShare * BytesPerSecond(pcie_generation <= 3 ? 12.5e9 : pcie_generation == 4 ? 25e9 : 54e9);
}

SocketRate socket_rate(const Sockets& sockets, BytesPerSecond nic, int gpus_of_node) {
  using Bound = SocketRate::Bound;
  int flows = kSocketChannels * std::min(std::max(1, sockets.threads * sockets.sockets), kTasksOfChunk);
  auto host = sockets.threads > 0 ? 1.0 * kSocketChannels * sockets.channel
                                  : sockets.thread / (gpus_of_node == 1 ? 2.0 : 1.0);
  SocketRate rate{kSocketWireShare * nic, Bound::wire};
  if (host < rate.rate) rate = {host, Bound::threads};
  if (auto all = 1.0 * flows * sockets.flow; sockets.flow > BytesPerSecond(0) && all < rate.rate)
    rate = {all, Bound::flows};
  return rate;
}

}  // namespace ddpsim::nccl
