// The calibrated curves, with numbers worked out by hand.
#include "sim/nccl/cost_model.hpp"

#include <cmath>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "sim/base/source.hpp"

#include "tests/nccl/communicators.hpp"

namespace ddpsim::nccl {
namespace {

constexpr double kMiB = 1048576.0;
constexpr Curve kCurve{1.2, 0.9, Seconds(10e-6)};

Calibration only(Algorithm algorithm, bool across) {
  Calibration calibration;
  calibration.entries.push_back({algorithm, across, kCurve});
  return calibration;
}

double microseconds(const CostModel& model, double bytes) {
  return model.choose(Bytes(bytes)).time.value() * 1e6;
}

// 8 H100s: 64 MiB go over NVLS, 8 KiB over ring/LL, with the lines of class_lines.cpp.
TEST(CostModel, InsideANodeTheLinesOfItsClass) {
  CostModel model(h100s(1), {}, {});
  EXPECT_EQ(model.times_from(model.candidates().front(), Bytes(8192)), TimesFrom::node_class);
  const auto& lines = class_lines(NodeClass::hopper).all_reduce;
  LineMessage large{8, 14, Bytes(64 * kMiB), BytesPerSecond(450e9)}, small = large;
  small.bytes = Bytes(8192);
  EXPECT_DOUBLE_EQ(microseconds(model, 64 * kMiB), nvls_line(lines, 0.85, large).value() * 1e6);
  EXPECT_DOUBLE_EQ(microseconds(model, 8192), ring_line(lines, Protocol::ll, small).value() * 1e6);
}

TEST(CostModel, OperationsHaveLinesOfTheirOwn) {
  for (auto operation : {Operation::all_gather, Operation::reduce_scatter}) {
    CostModel model(a100s(8), {}, {}, {operation});
    const auto& known = class_lines(NodeClass::ampere);
    const auto& lines = operation == Operation::all_gather ? known.all_gather : known.reduce_scatter;
    auto expected = ring_line(lines, Protocol::simple, {8, 7, Bytes(1e9), BytesPerSecond(300e9)});
    EXPECT_EQ(model.choose(Bytes(1e9)).time, expected);
  }
  // A chain has n steps, each of an n-th.
  CostModel broadcast(a100s(8), {}, {}, {Operation::broadcast});
  auto expected = ring_line(class_lines(NodeClass::ampere).all_gather, Protocol::simple,
                            {8, 8, Bytes(1e9), BytesPerSecond(300e9)});
  EXPECT_EQ(broadcast.choose(Bytes(1e9)).time, expected);
}

// Where the machine's all-reduce was measured, and twice as slow as the class's, so is its all-gather.
TEST(CostModel, OperationWithoutRowsFollowsTheMachinesAllReduce) {
  Calibration calibration;
  auto slow = class_lines(NodeClass::ampere).all_reduce;
  for (const auto& parameter : kRingParameters) {
    bool is_bandwidth = !parameter.is_latency && parameter.name != "ll_rise" && parameter.name != "ll_slope";
    if (parameter.is_latency) slow.*parameter.value *= 2;
    if (is_bandwidth) slow.*parameter.value /= 2;
  }
  calibration.node.push_back({Operation::all_reduce, slow});
  calibration.node[0].fitted_to = {
      {.table = "t", .ranks = 4, .smallest = Bytes(512), .largest = Bytes(1024 * kMiB)}};
  CostModel own(a100s(8), {}, calibration), plain(a100s(8), {}, {});
  CostModel gather(a100s(8), {}, calibration, {Operation::all_gather});
  CostModel plain_gather(a100s(8), {}, {}, {Operation::all_gather});
  EXPECT_EQ(own.times_from(own.candidates().front(), Bytes(kMiB)), TimesFrom::fewer_gpus);  // 8 of 4
  auto from = gather.times_from(gather.candidates().front(), Bytes(kMiB));
  EXPECT_EQ(kind_name(from, gather.communicator()), "calibrated");
  for (double bytes : {1e3, 1e6, 1e9}) {
    EXPECT_NEAR(microseconds(own, bytes), 2 * microseconds(plain, bytes), 1e-6 * bytes);
    EXPECT_NEAR(microseconds(gather, bytes) / microseconds(plain_gather, bytes), 2, 1e-9);
  }
}

TEST(CostModel, ACurveWithinAnNvlinkNodeIsOfAnotherTime) {
  EXPECT_THROW(CostModel(h100s(1), {}, only(Algorithm::ring, false)), InputError);
}

// Across nodes a ring without a curve runs over its links: 8 NICs of 50 GB/s, of which published
// reduce-scatters show 93.5 % at four nodes; of 16 the fall is 1.204 / (1 + 0.102 x 4). The step's latencies
// are the tuner's: 8.4 + (31 - 3) 3.4 + 3 x 14 us at four nodes.
TEST(CostModel, RingAcrossNodesOverTheLinks) {
  auto four = h100s(4);
  four.ring_peak = BytesPerSecond(400e9);
  EXPECT_NEAR(ring_busbw(four).value(), 374e9, 1e3);
  CostModel model(four, {}, {}, {Operation::reduce_scatter});
  double bytes = 4e9;
  // Inside the nodes S (31/32) / (1.9243305 X) + S / (1.4396567 X) at X = 450 GB/s: 364 GB/s, which is less.
  double inside = (31.0 / 32 / 1.9243305 + 1 / 1.4396567) / 450e3;
  EXPECT_LT(31.0 / 32 / inside, 374e3);
  EXPECT_NEAR(microseconds(model, bytes), 8.4 + 28 * 3.4 + 3 * 14 + bytes * inside, 1e-3);
  EXPECT_EQ(model.times_from(model.choose(Bytes(bytes)).candidate[0], Bytes(bytes)), TimesFrom::node_class);
  auto sixteen = h100s(16);
  sixteen.ring_peak = BytesPerSecond(400e9);
  EXPECT_NEAR(ring_busbw(sixteen).value(), 400e9 * 0.935 * 1.204 / 1.408, 1e3);
  CostModel wide(sixteen, {}, {}, {Operation::reduce_scatter});
  EXPECT_EQ(wide.times_from(wide.choose(Bytes(bytes)).candidate[0], Bytes(bytes)), TimesFrom::links);
}

// Its hops inside the nodes are those of a ring in one node: gathering as much among more GPUs takes longer.
TEST(CostModel, AGatheringRingAcrossNodesIsNoFasterThanWithinOne) {
  for (auto operation : {Operation::all_gather, Operation::reduce_scatter, Operation::broadcast})
    for (double bytes : {64 * kMiB, 256 * kMiB, 4096 * kMiB}) {
      double before = 0;
      for (int nodes : {1, 2, 4, 8, 16}) {
        auto c = h100s(nodes);
        c.ring_peak = BytesPerSecond(nodes == 1 ? 450e9 : 400e9);
        double time = microseconds(CostModel(c, {}, {}, {operation}), bytes);
        EXPECT_GT(time, before) << operation_name(operation) << ", " << nodes << " nodes, " << bytes;
        before = time;
      }
    }
}

// Two nodes of eight GPUs on PCIe: what a ring gets of a node's, by its transport or as measured, however
// wide the way between them. With two GPUs a node none of them both sends and receives there.
TEST(CostModel, ARingAcrossNodesGoesThroughTheirPcie) {
  auto pcie = a100s(16);
  pcie.nodes = 2;
  pcie.nvlink = false;
  pcie.nvlink_peak = {};
  pcie.ring_peak = BytesPerSecond(48e9);
  pcie.node_peak = BytesPerSecond(40e9);
  EXPECT_DOUBLE_EQ(ring_busbw(pcie).value(), 48e9);  // of links that nobody calls PCIe
  pcie.pcie = Pcie{.ring = BytesPerSecond(22e9), .gpus = 8};
  EXPECT_DOUBLE_EQ(ring_busbw(pcie).value(), 22e9);
  EXPECT_DOUBLE_EQ(ring_busbw(with_measured_pcie(pcie, only(Algorithm::ring, false))).value(), 36e9);
  auto pairs = pcie;
  pairs.ranks = 4;
  EXPECT_DOUBLE_EQ(ring_busbw(pairs).value(), 48e9);
  pcie.network_peak = BytesPerSecond(12.5e9);
  EXPECT_DOUBLE_EQ(ring_busbw(pcie).value(), 12.5e9);
}

// A curve of two GPUs says nothing of eight on the same PCIe.
TEST(CostModel, ACurveOfFewerGpusOnPcieIsNotTaken) {
  auto eight = a100s(8);
  eight.nvlink = false;
  eight.nvlink_peak = {};
  eight.ring_peak = eight.node_peak = BytesPerSecond(24e9);
  eight.pcie = Pcie{.ring = BytesPerSecond(2e9), .gpus = 8};
  auto calibration = only(Algorithm::ring, false);
  calibration.entries.front().fitted_to = {{.table = "pair", .ranks = 2}};
  const CostModel model(eight, {{Algorithm::ring}, {Protocol::simple}}, calibration);
  const auto& ring = *model.choose(Bytes(1e9)).candidate;
  EXPECT_EQ(model.times_from(ring, Bytes(1e9)), TimesFrom::links);
  EXPECT_NEAR(model.time(ring, Bytes(1e9)).value(), 2 * 7 / 8.0 * 1e9 / 2e9, 1e-3);
  calibration.entries.front().fitted_to = {{.table = "eight", .ranks = 8}};
  const CostModel known(eight, {{Algorithm::ring}, {Protocol::simple}}, calibration);
  EXPECT_NE(known.times_from(*known.choose(Bytes(1e9)).candidate, Bytes(1e9)), TimesFrom::links);
}

// github.com/NVIDIA/nccl/issues/1229: bus bandwidth of reduce-scatters of H100s by nodes, no size said.
TEST(CostModel, PublishedReduceScattersAcrossNodes) {
  const std::vector<std::pair<int, double>> rows{{4, 360},  {8, 345},  {16, 320},
                                                 {32, 300}, {64, 280}, {128, 260}};
  for (auto [nodes, busbw] : rows) {
    auto c = h100s(nodes);
    c.ring_peak = BytesPerSecond(400e9);
    CostModel model(c, {}, {}, {Operation::reduce_scatter});
    double bytes = 64 * 1024 * kMiB, n = c.ranks;
    double predicted = bytes * (n - 1) / n / microseconds(model, bytes) / 1e3;
    EXPECT_NEAR(predicted / busbw, 1, 0.05) << nodes;
  }
}

// What EFA's messages take longer than InfiniBand's 3 us every step between nodes takes longer.
TEST(CostModel, LatencyOfMessagesIsNotWhatTheTunerIsTold) {
  auto told = h100s(4), slow = h100s(4);
  told.ring_peak = slow.ring_peak = BytesPerSecond(400e9);
  told.tuner_nic_latency = Seconds(75e-6);
  slow.nic_latency = Seconds(20e-6);
  Collective scatter{Operation::reduce_scatter};
  Allowed simple{{}, {Protocol::simple}};
  CostModel plain(h100s(4), simple, {}, scatter), told_model(told, simple, {}, scatter),
      slow_model(slow, simple, {}, scatter);
  EXPECT_NEAR(microseconds(slow_model, 1e9) - microseconds(told_model, 1e9), 3 * 2 * 17, 1e-6);
}

// Over PCIe the tuner's bandwidth: one channel of 20 GB/s x 4/6, where the ramp is paid 1 + log2 4 times.
TEST(CostModel, RingOverPcie) {
  auto pcie = a100s(4);
  pcie.nvlink = false;
  pcie.ring = pcie.tree = {1, 20, 20};
  CostModel model(pcie, {}, only(Algorithm::ring, false));
  EXPECT_NEAR(microseconds(model, 64 * kMiB), 1.2 * 16 + 64 * kMiB / (0.9 * 20e3 * 4 / 6) + 30 * std::log(17),
              1e-6);
}

// 4 nodes: L is that of tree/LL128, 14 + 2 (7 x 1.25 + 2 x 8.5) = 65.5; b = 8 x 45.5 x 32/62 = 187.87; the
// ramp 1 + log2 4 times.
TEST(CostModel, NvlsTreeAcrossNodes) {
  CostModel model(h100s(4), {}, only(Algorithm::nvls_tree, true));
  double b = 8 * 45.5 * 32 / 62;
  EXPECT_NEAR(microseconds(model, 64 * kMiB), 1.2 * 65.5 + 64 * kMiB / (0.9 * b * 1e3) + 30 * std::log(17),
              1e-6);
  // Small messages: tree/LL, 35.2 us at 10.2 GB/s x 0.7 (8 KiB), which the network slows like the large ones.
  EXPECT_NEAR(microseconds(model, 8192), 1.2 * 35.2 + 8192 / (0.9 * 10.2e3 * 0.7), 1e-6);
}

// Without NVLink SHARP: 64 MiB go over a tree, which has the latency of its LL128 and the bandwidth of
// Simple, a huge buffer over a ring.
TEST(CostModel, RingOrTreeAcrossNodes) {
  auto many = a100s(1024);
  many.nodes = 128;
  many.ring = many.tree = {8, 24, 24};
  CostModel model(many, {}, only(Algorithm::ring, true));
  double tree_latency = 14 + 2 * (7 * 1.25 + 7 * 8.5), tree_b = 8 * 17.8 / 2;
  EXPECT_NEAR(microseconds(model, 64 * kMiB),
              1.2 * tree_latency + 64 * kMiB / (0.9 * tree_b * 1e3) + 8 * 10 * std::log(17), 1e-6);
  double ring_latency = 14 + (2046 - 254) * 2.0 + 254 * 4.0, ring_b = 192 * 1024 / 2046.0;
  double huge = 64 * 1024 * kMiB;
  EXPECT_NEAR(microseconds(model, huge),
              1.2 * ring_latency + huge / (0.9 * ring_b * 1e3) + 80 * std::log(1 + huge / (4 * kMiB)), 1e-3);
}

// 0.935 x 1.204 / (1 + 0.102 log2 N) of the links: at 64 nodes 1.204 / 1.612 of what four nodes get.
TEST(CostModel, ACalibratedRingFallsBeyondTheNodesItWasFittedTo) {
  auto huge_takes = [](int nodes, int fitted_to) {
    auto calibration = only(Algorithm::ring, true);
    calibration.entries.front().nodes = fitted_to;
    auto communicator = h100s(nodes);
    communicator.ring_peak = BytesPerSecond(400e9);
    auto algbw = CostModel(communicator, {{Algorithm::ring}, {Protocol::simple}}, calibration)
                     .bandwidth(Algorithm::ring);
    double n = communicator.ranks;
    return 2 * (n - 1) / n * algbw.value();  // busbw
  };
  double four = huge_takes(4, 4);
  EXPECT_NEAR(huge_takes(64, 4) / four, 1.204 / 1.612, 1e-4);
  EXPECT_NEAR(huge_takes(4, 64) / four, 1, 1e-4);  // within them nothing changes
  EXPECT_NEAR(huge_takes(64, 64) / four, 1, 1e-4);
  EXPECT_NEAR(huge_takes(64, 0) / four, 1, 1e-4);  // not known: the same of any number
  auto calibration = only(Algorithm::tree, true);
  calibration.entries.front().nodes = 4;
  CostModel tree(h100s(64), {{Algorithm::tree}, {}}, calibration);
  CostModel plain(h100s(64), {{Algorithm::tree}, {}}, only(Algorithm::tree, true));
  EXPECT_EQ(microseconds(tree, 1e9), microseconds(plain, 1e9));
}

// Forcing what NCCL picks by itself changes nothing.
TEST(CostModel, IsATimeOfThePick) {
  for (auto communicator : {a100s(2), a100s(8), h100s(1), h100s(2), h100s(128)})
    for (auto version : {Version{2, 21, 5}, Version{2, 27, 6}, Version{2, 30, 7}}) {
      communicator.version = version;
      communicator.ring_peak = BytesPerSecond(400e9);
      auto calibration = only(Algorithm::nvls_tree, true);
      CostModel free(communicator, {}, calibration);
      for (double bytes = 64; bytes < 1e11; bytes *= 1.7) {
        auto choice = free.choose(Bytes(bytes));
        CostModel forced(communicator, {{choice.candidate->algorithm}, {choice.candidate->protocol}},
                         calibration);
        EXPECT_EQ(forced.choose(Bytes(bytes)).time, choice.time) << bytes << " bytes, " << communicator.ranks;
      }
    }
}

// But a ring has its own, or what its links give.
TEST(CostModel, AcrossNodesAnotherAlgorithmsCurveIsBetterThanNone) {
  auto four = h100s(4);
  four.ring_peak = BytesPerSecond(400e9);
  CostModel own(four, {{Algorithm::tree}, {}}, only(Algorithm::tree, true));
  CostModel other(four, {{Algorithm::tree}, {}}, only(Algorithm::nvls_tree, true));
  EXPECT_EQ(microseconds(own, 64 * kMiB), microseconds(other, 64 * kMiB));
  EXPECT_EQ(other.times_from(other.candidates().front(), Bytes(kMiB)), TimesFrom::other_algorithm);
  CostModel ring(four, {{Algorithm::ring}, {}}, only(Algorithm::nvls_tree, true));
  EXPECT_EQ(ring.times_from(ring.candidates().front(), Bytes(kMiB)), TimesFrom::links);
  // Gathering is half of a ring's all-reduce.
  CostModel rings(four, {{Algorithm::ring}, {Protocol::simple}}, only(Algorithm::ring, true));
  CostModel gather(four, {{}, {Protocol::simple}}, only(Algorithm::ring, true), {Operation::all_gather});
  EXPECT_NEAR(microseconds(gather, 1e9), microseconds(rings, 1e9) / 2, 1e-9);
  EXPECT_EQ(gather.times_from(gather.candidates().front(), Bytes(kMiB)), TimesFrom::other_operation);
}

// Of one pick; at the size where the pick changes the time may drop, as in NCCL.
TEST(CostModel, GrowsWithTheMessage) {
  for (const auto& communicator : {a100s(2), a100s(8), h100s(1), h100s(2), h100s(128)}) {
    Calibration all;
    for (auto algorithm : {Algorithm::ring, Algorithm::tree, Algorithm::nvls_tree})
      all.entries.push_back({algorithm, true, kCurve});
    CostModel model(communicator, {}, all);
    for (const auto& candidate : model.candidates()) {
      if (candidate.algorithm == Algorithm::tree && candidate.protocol == Protocol::ll)
        continue;  // its shares jump
      Seconds before;
      for (double bytes = 4; bytes < 1e12; bytes *= 1.05) {
        auto time = model.time(candidate, Bytes(bytes));
        EXPECT_GE(time, before) << bytes << " bytes, " << communicator.ranks << " ranks";
        before = time;
      }
    }
  }
}

TEST(CostModel, ForcingWhatIsNotThereIsTheUsersMistake) {
  try {
    CostModel model(a100s(8), {{Algorithm::nvls}, {}}, {});
    FAIL() << "no NVLS on A100s";
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.message()), "NCCL has no way to do that among these GPUs");
  }
}

}  // namespace
}  // namespace ddpsim::nccl
