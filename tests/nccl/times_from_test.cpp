// What was measured of a machine, and what is its class's all the same.
#include "sim/nccl/times_from.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "sim/nccl/cost_model.hpp"
#include "sim/nccl/peer_model.hpp"

#include "tests/nccl/communicators.hpp"

namespace ddpsim::nccl {
namespace {

constexpr double kMiB = 1048576.0;

std::vector<bool> ring_parameters(const std::vector<std::string_view>& names) {
  std::vector<bool> identified;
  for (const auto& parameter : kRingParameters)
    identified.push_back(std::find(names.begin(), names.end(), parameter.name) != names.end());
  return identified;
}

// Rows of 512 MiB to 8 GiB that went over NVLS.
Calibration large_all_reduces() {
  Calibration calibration;
  auto lines = class_lines(NodeClass::hopper).all_reduce;
  lines.nvls_large_link /= 1.2;
  calibration.node.push_back({Operation::all_reduce, lines});
  calibration.node[0].fitted_to = {
      {.table = "t", .ranks = 8, .smallest = Bytes(512 * kMiB), .largest = Bytes(8192 * kMiB)}};
  calibration.node[0].identified = ring_parameters({"nvls_large_base", "nvls_large_link"});
  return calibration;
}

TimesFrom from(const Calibration& calibration, Operation operation, double bytes) {
  CostModel model(h100s(1), {}, calibration, {operation});
  return model.times_from(*model.choose(Bytes(bytes)).candidate, Bytes(bytes));
}

TEST(TimesFrom, WhatRowsDidNotDetermineIsTheClasss) {
  auto calibration = large_all_reduces();
  EXPECT_EQ(from(calibration, Operation::all_reduce, 1024 * kMiB), TimesFrom::own);
  for (double bytes : {4096.0, 1 * kMiB}) {
    EXPECT_EQ(from(calibration, Operation::all_reduce, bytes), TimesFrom::node_class) << bytes;
    EXPECT_EQ(CostModel(h100s(1), {}, calibration).choose(Bytes(bytes)).time,
              CostModel(h100s(1), {}, {}).choose(Bytes(bytes)).time);
  }
  for (auto operation : {Operation::all_gather, Operation::reduce_scatter, Operation::broadcast})
    for (double bytes : {4096.0, 1 * kMiB, 1024 * kMiB})
      EXPECT_EQ(from(calibration, operation, bytes), TimesFrom::node_class) << bytes;
  PeerModel peers(h100s(1), calibration);
  for (auto operation : {Operation::all_to_all, Operation::send_recv})
    for (double bytes : {4096.0, 1024 * kMiB})
      EXPECT_EQ(peers.choose(operation, Bytes(bytes), {}).from, TimesFrom::node_class) << bytes;
}

TEST(TimesFrom, WhatFollowsFromItIsNot) {
  auto calibration = large_all_reduces();
  calibration.node[0].identified = ring_parameters({"simple_link", "simple_memory"});
  EXPECT_EQ(from(calibration, Operation::all_gather, 1024 * kMiB), TimesFrom::other_operation);
  EXPECT_EQ(from(calibration, Operation::all_gather, 4096), TimesFrom::node_class);
  PeerModel peers(h100s(1), calibration);
  EXPECT_EQ(peers.choose(Operation::all_to_all, Bytes(1024 * kMiB), {}).from, TimesFrom::other_operation);
  EXPECT_EQ(peers.choose(Operation::all_to_all, Bytes(4096), {}).from, TimesFrom::node_class);
}

// Within a factor of four of a row; below 512 B as 512 B.
TEST(TimesFrom, FarFromEveryRowItIsOfOtherSizes) {
  auto calibration = large_all_reduces();
  calibration.node[0].identified.clear();  // a file that does not say: all of them
  EXPECT_EQ(from(calibration, Operation::all_reduce, 128 * kMiB), TimesFrom::own);
  EXPECT_EQ(from(calibration, Operation::all_reduce, 127 * kMiB), TimesFrom::other_sizes);
  EXPECT_EQ(from(calibration, Operation::all_reduce, 32768 * kMiB), TimesFrom::own);
  EXPECT_EQ(from(calibration, Operation::all_reduce, 32769 * kMiB), TimesFrom::other_sizes);
  EXPECT_EQ(kind_name(TimesFrom::other_sizes, h100s(1)), "class");
  EXPECT_EQ(kind_name(TimesFrom::other_sizes, h100s(2)), "tuner");
  calibration.node[0].fitted_to[0].smallest = Bytes(2048);
  EXPECT_EQ(from(calibration, Operation::all_reduce, 8), TimesFrom::own);
  calibration.node[0].fitted_to.clear();
  EXPECT_EQ(from(calibration, Operation::all_reduce, 8), TimesFrom::own);
}

// A send/recv is an all-to-all of two: nothing of it was measured itself.
TEST(TimesFrom, SendsAreCalibratedByAllToAllAtMost) {
  Calibration calibration;
  calibration.node.push_back({Operation::all_to_all, {}, class_lines(NodeClass::hopper).all_to_all});
  PeerModel peers(h100s(1), calibration);
  EXPECT_EQ(peers.choose(Operation::all_to_all, Bytes(kMiB), {}).from, TimesFrom::own);
  EXPECT_EQ(peers.choose(Operation::send_recv, Bytes(kMiB), {}).from, TimesFrom::other_operation);
}

// Over PCIe all-to-all is of what all-reduces were measured to get of the same links, 0.11 of 20 GB/s, which
// bounds have in them.
TEST(TimesFrom, MeasuredPcieCarriesToWhoSendsDirectly) {
  auto pcie = a100s(8);
  pcie.nvlink = false;
  pcie.nvlink_peak = {};
  pcie.ring_peak = pcie.node_peak = BytesPerSecond(20e9);
  Calibration measured;
  measured.entries.push_back({Algorithm::ring, false, {1, 0.11, Seconds(0)}});
  measured.entries[0].fitted_to = {
      {.table = "t", .ranks = 8, .smallest = Bytes(512), .largest = Bytes(1024 * kMiB)}};
  pcie.pcie = Pcie{.share = 0.5, .ring = BytesPerSecond(10e9), .gpus = 8};
  const auto mine = with_measured_pcie(pcie, measured);
  ASSERT_TRUE(mine.pcie->is_measured);
  EXPECT_DOUBLE_EQ(mine.pcie->share, 0.11);
  EXPECT_DOUBLE_EQ(mine.pcie->ring.value(), 2.2e9);
  LinkBounds bounds{1 / 2.2e9, 1 / 2.2e9};
  for (auto operation : {Operation::all_to_all, Operation::send_recv}) {
    auto plain = PeerModel(pcie, {}).choose(operation, Bytes(1e9), bounds);
    auto own = PeerModel(pcie, measured).choose(operation, Bytes(1e9), bounds);
    EXPECT_EQ(plain.from, TimesFrom::links);
    EXPECT_EQ(own.from, TimesFrom::other_operation);
    EXPECT_NEAR(own.time.value(), 1 / 2.2, 1e-3);
    EXPECT_EQ(own.time, plain.time);
    // Between nodes the network has a share of its own.
    auto two = pcie;
    two.nodes = 2;
    auto network = PeerModel(two, measured).choose(operation, Bytes(1e9), {1 / 2e9, 1 / 2.2e9});
    EXPECT_EQ(network.from, TimesFrom::links);
    EXPECT_NEAR(network.time.value(), 0.5 / network_share(2), 1e-3);
  }
}

}  // namespace
}  // namespace ddpsim::nccl
