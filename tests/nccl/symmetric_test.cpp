// NCCL's symmetric kernels: which there are, NCCL's picks and estimates by hand, and how far the times are
// from figures that NVIDIA published.
#include <array>
#include <cmath>

#include <gtest/gtest.h>

#include "sim/nccl/cost_model.hpp"

#include "tests/nccl/communicators.hpp"
#include "tests/support/errors.hpp"

namespace ddpsim::nccl {
namespace {

using ddpsim::testing::input_error;

const Allowed kSymmetric{.algorithms = {}, .protocols = {}, .collnet = false, .symmetric = true};

Communicator blackwells(int ranks) {
  auto c = h100s(1);
  c.gpu = Gpu::blackwell;
  c.ranks = ranks;
  c.nvlink_peak = BytesPerSecond(900e9);
  return c;
}

CostModel model(const Communicator& communicator, Operation operation = Operation::all_reduce,
                Element element = Element::float32) {
  return {communicator, kSymmetric, {}, {operation, element}};
}

std::string kernels(const Communicator& communicator, Operation operation,
                    Element element = Element::float32) {
  std::string all;
  auto known = model(communicator, operation, element);
  for (const auto& candidate : known.symmetric()->candidates())
    all += std::string(name(candidate.algorithm)) + "/" + std::string(name(candidate.protocol)) + " ";
  return all;
}

std::string refused(const Communicator& communicator, const Allowed& allowed = kSymmetric) {
  return input_error([&] { CostModel(communicator, allowed, {}); });
}

// A kernel each of loads and stores and of multicast, low latency or not; ReduceScatter_LL has no multicast.
TEST(NcclSymmetric, KernelsByOperation) {
  const std::string all = "symmetric/ll symmetric/simple symmetric_multicast/ll symmetric_multicast/simple ";
  EXPECT_EQ(kernels(h100s(1), Operation::all_reduce), all);
  EXPECT_EQ(kernels(h100s(1), Operation::all_gather), all);
  EXPECT_EQ(kernels(h100s(1), Operation::reduce_scatter),
            "symmetric/ll symmetric/simple symmetric_multicast/simple ");
  EXPECT_EQ(kernels(h100s(1), Operation::broadcast), "");
  auto pair = h100s(1);
  pair.ranks = 2;
  EXPECT_EQ(kernels(pair, Operation::all_reduce), "symmetric/ll symmetric/simple ");
  auto without_switch = h100s(1);
  without_switch.nvls.reset();
  EXPECT_EQ(kernels(without_switch, Operation::all_gather), "symmetric/ll symmetric/simple ");
}

// Sums of floats of at most 32 bits; whatever is gathered. Hopper's switches do not add up 8 bits.
TEST(NcclSymmetric, KernelsByElement) {
  EXPECT_EQ(kernels(h100s(1), Operation::all_reduce, Element::float64), "");
  EXPECT_EQ(kernels(h100s(1), Operation::reduce_scatter, Element::int32), "");
  EXPECT_NE(kernels(h100s(1), Operation::all_gather, Element::int32), "");
  EXPECT_EQ(kernels(h100s(1), Operation::all_reduce, Element::float8), "symmetric/ll symmetric/simple ");
  EXPECT_EQ(kernels(blackwells(8), Operation::all_reduce, Element::float8),
            kernels(blackwells(8), Operation::all_reduce));
}

// 8 H100s, 4 KiB: AGxLLMC_R moves 9 x 8 x 4096 = 294,912 bytes, at 1.1 x 65 GiB/s a block. Four blocks:
// x = 286 GiB/s of 320 is 267.67 GiB/s, softened by 65 (ln(e^4.923 - 1) = 4.9158, e^(4.9158 - 4.4) = 1.6750,
// 320 - 65 ln 2.6750 = 256.05 GiB/s = 274,926 bytes/us): 1.07270 us, ln(1 + e^0.0727) = 0.7301, 5.230 us.
// With 64 blocks 0.8582 - 1 = -0.1418 gives 0.6247, 5.125 us, and three blocks (x = 214.5) are beyond
// 1.025 x 5.125 = 5.253: 1.256 - 1 gives 0.8294, 5.329.
TEST(NcclSymmetric, SmallAllReducesByHand) {
  auto known = model(h100s(1));
  auto choice = known.choose(Bytes(4096));
  EXPECT_EQ(choice.candidate->algorithm, Algorithm::symmetric_multicast);
  EXPECT_EQ(choice.candidate->protocol, Protocol::ll);
  EXPECT_EQ(choice.channels, 4);
  EXPECT_NEAR(choice.time.value(), 5.230e-6, 0.002e-6);
  EXPECT_EQ(known.source_of(*choice.candidate, Bytes(4096)), "NCCL's own estimate, uncalibrated");
  EXPECT_EQ(kind_name(known.times_from(*choice.candidate, Bytes(4096)), known.communicator()), "tuner");
}

// 8 H100s gather 1 GiB: each receives 7/8 of it over 2 blocks, 0.55 x 8 x 44 GiB/s each, of at most 320:
// 2 x 193.6 = 387.2, softened by 44: 320 - 44 ln(1 + e^(7.2720 - 8.8)) = 311.33 GiB/s. 0.875 GiB take
// 2810.5 us, with 7.8 - 1 of latency 2817.3.
TEST(NcclSymmetric, LargeGathersByHand) {
  auto choice = model(h100s(1), Operation::all_gather).choose(Bytes(1073741824));
  EXPECT_EQ(choice.candidate->algorithm, Algorithm::symmetric_multicast);
  EXPECT_EQ(choice.candidate->protocol, Protocol::simple);
  EXPECT_EQ(choice.channels, 2);
  EXPECT_NEAR(choice.time.value(), 2817.3e-6, 1e-6);
}

// The switch adds up: 9/8 of the buffer over each link, where NVLS's large messages get 0.776 x 0.85 of
// 450 GB/s (class H100), 296.8 GB/s, and not the 480 GiB/s that NCCL estimates with.
TEST(NcclSymmetric, LargeAllReducesAreAsFastAsNvls) {
  auto known = model(h100s(1));
  auto time = [&](double bytes) { return known.choose(Bytes(bytes)).time.value(); };
  double rate = class_lines(NodeClass::hopper).all_reduce.nvls_large_link * 0.85 * 450e9;
  EXPECT_NEAR(time(8e9) - time(4e9), 4e9 * 1.125 / rate, 1e-6);
  auto slow = h100s(1);
  slow.nvlink_peak = BytesPerSecond(225e9);
  EXPECT_NEAR(model(slow).choose(Bytes(8e9)).time.value(), 2 * time(8e9), 1e-4);
}

// Messages that 32-bit counters cannot count.
TEST(NcclSymmetric, TheLargestAreTheTuners) {
  auto known = model(h100s(1));
  EXPECT_TRUE(is_symmetric(known.choose(Bytes(64.0 * (1 << 30) - 1)).candidate->algorithm));
  EXPECT_EQ(known.choose(Bytes(64.0 * (1 << 30))).candidate->algorithm, Algorithm::nvls);
}

TEST(NcclSymmetric, OfReleasesAndMachinesThatHaveThem) {
  EXPECT_TRUE(model(h100s(1, {2, 27, 3})).symmetric());
  EXPECT_EQ(refused(h100s(1, {2, 26, 6})),
            "error: NCCL has symmetric kernels since 2.27.3, and this is 2.26.6\n"
            "hint: remove 'symmetric', or write a later 'version'");
  EXPECT_EQ(refused(h100s(4)),
            "error: symmetric kernels are for GPUs of one NVLink domain\n"
            "hint: these are on 4 nodes; what NCCL 2.29 has for several (over GIN) is not modelled: remove "
            "'symmetric'");
  auto pcie = h100s(1);
  pcie.nvlink = false;
  EXPECT_EQ(refused(pcie),
            "error: symmetric kernels are for GPUs of one NVLink domain\n"
            "hint: these have no NVLink among all of them: remove 'symmetric'");
  EXPECT_EQ(refused(a100s(8)),
            "error: NCCL's times of symmetric kernels are of hopper and blackwell GPUs, not ampere\n"
            "hint: remove 'symmetric'");
  auto forced = kSymmetric;
  forced.protocols = {Protocol::simple};
  EXPECT_EQ(refused(h100s(1), forced),
            "error: NCCL runs its symmetric kernels whatever algorithm or protocol is forced\n"
            "hint: remove 'algorithm' and 'protocol', or remove 'symmetric'");
  EXPECT_FALSE(CostModel(h100s(1), {}, {}).symmetric());
}

// What NVIDIA measured of the kernel that is picked: github.com/NVIDIA/nccl, commit 7e809ce8 (before 2.27.3),
// src/symmetric.cc, calcTime_sm90 and calcTime_sm100, us at 4 KiB, 64 KiB, 1, 16, 256 MiB and 4 GiB.
struct Published {
  Communicator machine;
  Operation operation;
  std::array<double, 6> time;
};

TEST(NcclSymmetric, AgainstPublishedFigures) {
  const std::vector<Published> tables{
      {h100s(1), Operation::all_reduce, {4.86, 8.30, 12.16, 70.43, 991.5, 15586}},
      {h100s(1), Operation::all_gather, {4.60, 5.75, 9.99, 52.46, 724.9, 11479}},
      {h100s(1), Operation::reduce_scatter, {5.32, 6.72, 10.0, 54.25, 747.3, 11781}},
      {blackwells(8), Operation::all_reduce, {10.15, 15.32, 16.94, 50.47, 578.4, 8976.5}},
      {blackwells(64), Operation::all_reduce, {15.10, 18.69, 19.94, 51.90, 554.7, 8586.9}}};
  double sum = 0, rows = 0;
  for (const auto& table : tables) {
    auto known = model(table.machine, table.operation);
    double bytes = 4096;
    for (double measured : table.time) {
      double error = std::abs(std::log(known.choose(Bytes(bytes)).time.value() * 1e6 / measured));
      EXPECT_LT(error, std::log(1.30)) << name(table.machine.gpu) << " " << table.machine.ranks << " "
                                       << operation_name(table.operation) << " " << bytes;
      sum += error;
      ++rows;
      bytes *= 16;
    }
  }
  EXPECT_LT(std::expm1(sum / rows), 0.07);
}

}  // namespace
}  // namespace ddpsim::nccl
