// Who gets peer-to-peer, and what a ring gets without NVLink: the rules of NCCL's paths.cc, and shares whose
// rows measurements/judge_transports.py judges. Bandwidths in GB/s.
#include "sim/nccl/transport.hpp"

#include <gtest/gtest.h>

namespace ddpsim::nccl {
namespace {

constexpr Version kOld{2, 22, 3}, kNew{2, 23, 4};
constexpr BytesPerSecond kSlot(24e9);  // of generation 4, as NCCL counts

Pcie eight(const PcieRule& rule, PathLevel farthest = PathLevel::sys, BytesPerSecond slot = kSlot) {
  return pcie_of(rule, 8, farthest, slot);
}

TEST(PeerToPeer, ByReleaseAndCpu) {
  struct Row {
    Version version;
    Cpu cpu;
    int gpus;
    PathLevel level;
  };
  for (const auto& row : {Row{kOld, Cpu::amd, 8, PathLevel::sys}, Row{kNew, Cpu::amd, 8, PathLevel::pxb},
                          Row{kNew, Cpu::amd, 3, PathLevel::pxb}, Row{kNew, Cpu::amd, 2, PathLevel::sys},
                          Row{kOld, Cpu::intel, 2, PathLevel::pxb}, Row{kNew, Cpu::intel, 2, PathLevel::pxb},
                          Row{kOld, Cpu::arm, 8, PathLevel::sys}, Row{kNew, Cpu::arm, 2, PathLevel::pxb}})
    EXPECT_EQ(peer_to_peer_level(row.version, row.cpu, row.gpus), row.level)
        << name(row.version) << " " << row.gpus;
}

TEST(PeerToPeer, TheDriverAndTheUserHaveTheLastWord) {
  PcieRule rule{kOld, Cpu::amd, true, {}};
  EXPECT_FALSE(eight(rule).through_host());
  rule.driver_allows = false;
  EXPECT_TRUE(eight(rule, PathLevel::pix).through_host());
  EXPECT_EQ(eight(rule).why, Pcie::Why::driver);
  rule.host.level = PathLevel::sys;
  EXPECT_FALSE(eight(rule).through_host());
  EXPECT_EQ(eight(rule).why, Pcie::Why::asked);
  rule.host.level = PathLevel::none;
  EXPECT_TRUE(eight(rule, PathLevel::pix).through_host());
}

// Of a slot's payload, which is more than NCCL counts: 0.78 with peer-to-peer, 0.47 without.
TEST(PcieShares, OfThePayload) {
  PcieRule rule{kNew, Cpu::intel, true, {.payload = 25.0 / 24, .generation = 4}};
  EXPECT_DOUBLE_EQ(eight(rule, PathLevel::pix).share * 24, 0.78 * 25);
  EXPECT_DOUBLE_EQ(eight(rule, PathLevel::phb).share * 24, 0.47 * 25);
  EXPECT_FALSE(eight(rule, PathLevel::phb).is_interleaved());
}

TEST(InterleavedHosts, AreEpycsOfGenerationFourUnlessSomebodySaysOtherwise) {
  PcieRule rule{kNew, Cpu::amd, true, {}};
  EXPECT_TRUE(eight(rule).is_assumed);
  EXPECT_DOUBLE_EQ(eight(rule).flow.value(), 1.7e9);
  EXPECT_DOUBLE_EQ(eight(rule, PathLevel::phb).flow.value(), 4.5e9);
  EXPECT_FALSE(eight(rule, PathLevel::pix).is_interleaved());  // which is peer to peer
  for (double slot : {12e9, 48e9})
    EXPECT_FALSE(eight(rule, PathLevel::sys, BytesPerSecond(slot)).is_interleaved());
  rule.host.generation = 5;
  EXPECT_FALSE(eight(rule).is_interleaved());
  rule.host = {.numa_domains = 4};
  EXPECT_FALSE(eight(rule).is_interleaved());
  rule.host.numa_domains = 1;
  EXPECT_TRUE(eight(rule).is_interleaved());
  EXPECT_FALSE(eight(rule).is_assumed);
  EXPECT_TRUE(eight(rule, PathLevel::sys, BytesPerSecond(12e9)).is_interleaved());
  rule.cpu = Cpu::intel;
  EXPECT_FALSE(eight(rule).is_interleaved());
}

double rate(const Sockets& sockets, double nic, int gpus) {
  return socket_rate(sockets, BytesPerSecond(nic * 1e9), gpus).rate.value() / 1e9;
}

TEST(SocketRates, AreTheLeastOfWireFlowsAndThreads) {
  using Bound = SocketRate::Bound;
  // Two channels of 2.35 with helper threads, on a wide NIC.
  EXPECT_DOUBLE_EQ(rate(sockets_of(Cloud::aws_placement), 12.5, 8), 4.7);
  // 2 threads x 8 sockets are 8 flows a channel, 16 in all: 10 GB/s of AWS, which 0.93 of 1.25 is below.
  EXPECT_DOUBLE_EQ(rate(sockets_of(Cloud::aws), 1.25, 1), 0.93 * 1.25);
  // In a pod two flows of 5 Gb/s.
  auto pod = socket_rate(sockets_of(Cloud::aws, true), BytesPerSecond(3.125e9), 8);
  EXPECT_DOUBLE_EQ(pod.rate.value(), 1.25e9);
  EXPECT_EQ(pod.bound, Bound::flows);
  // One proxy thread copies what comes and what goes, unless another GPU's process has one of the two.
  EXPECT_DOUBLE_EQ(rate(sockets_of(Cloud::none), 12.5, 1), 2.0);
  EXPECT_DOUBLE_EQ(rate(sockets_of(Cloud::none), 12.5, 8), 4.0);
  EXPECT_DOUBLE_EQ(rate(sockets_of(Cloud::gcp), 12.5, 1), 4.7);
  EXPECT_DOUBLE_EQ(rate(sockets_of(Cloud::azure), 12.5, 1), 2.0);
}

}  // namespace
}  // namespace ddpsim::nccl
