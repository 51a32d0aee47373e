// Lines found again in tables that were made with them.
#include "sim/calibrate/lines_fit.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "tests/calibrate/measured_machines.hpp"
#include "tests/support/errors.hpp"

namespace ddpsim::calibrate {
namespace {

using nccl::kPeerParameters, nccl::kRingParameters, nccl::PeerLines, nccl::RingLines;

const std::vector<Operation> kRings{Operation::all_reduce, Operation::all_gather, Operation::reduce_scatter};

// The class's lines, latencies 1.3 times as long and bandwidths 0.9 times as wide; of all_reduce, all_gather
// and reduce_scatter with one set of latencies.
nccl::Calibration truth(nccl::NodeClass node_class) {
  const auto& known = nccl::class_lines(node_class);
  auto like = [](auto lines, const auto& parameters) {
    for (const auto& p : parameters) lines.*p.value *= p.is_latency ? 1.3 : 0.9;
    return lines;
  };
  return {{},
          {{Operation::all_reduce, like(known.all_reduce, kRingParameters)},
           {Operation::all_gather, like(known.all_gather, kRingParameters)},
           {Operation::reduce_scatter, like(known.reduce_scatter, kRingParameters)},
           {Operation::all_to_all, {}, like(known.all_to_all, kPeerParameters)}}};
}

std::vector<Measurement> tables(const std::function<nccl::Communicator(int)>& machine,
                                const std::vector<Operation>& operations, const nccl::Calibration& lines,
                                const Noise& noise = no_noise) {
  std::vector<Measurement> all;
  for (auto operation : operations)
    for (int ranks : {2, 4, 8}) all.push_back(on_lines(machine(ranks), operation, lines, noise));
  return all;
}

nccl::Communicator nvlink_a100s(int ranks) {
  return a100s(1, ranks);
}

std::vector<FittedLines> fit(const std::vector<Measurement>& machine, const nccl::Calibration& known = {}) {
  std::vector<const Measurement*> pointers;
  for (const auto& m : machine) pointers.push_back(&m);
  return fit_lines(pointers, known);
}

const FittedLines& of(const std::vector<FittedLines>& fitted, Operation operation) {
  for (const auto& one : fitted)
    if (one.entry.operation == operation) return one;
  ADD_FAILURE() << "no lines of " << operation_name(operation);
  return fitted.front();
}

bool is_informed(const FittedLines& lines, std::string_view name) {
  for (std::size_t p = 0; p < kRingParameters.size(); ++p)
    if (kRingParameters.at(p).name == name) return lines.informed[p];
  ADD_FAILURE() << name;
  return false;
}

double worst_error(const std::vector<Measurement>& machine, const std::vector<FittedLines>& fitted) {
  nccl::Calibration calibration;
  for (const auto& one : fitted) calibration.node.push_back(one.entry);
  double worst = 0;
  for (const auto& m : machine) {
    auto time = predictor(m, calibration);
    for (const auto& point : points_of(m.table))
      worst = std::max(worst, std::abs(std::log(time(point.bytes) / point.measured)));
  }
  return worst;
}

TEST(LinesFit, FindsTheLinesOfTablesWithoutNoise) {
  for (const auto& machine : {std::function(nvlink_a100s), std::function(h100s)}) {
    auto known = truth(nccl::class_of(machine(8)));
    auto all = tables(machine, kRings, known);
    auto fitted = fit(all);
    EXPECT_LT(worst_error(all, fitted), 0.05);
    for (auto operation : kRings) {
      const auto &found = of(fitted, operation).entry.ring, &made = known.in_node(operation)->ring;
      EXPECT_NEAR(found.ll_base / made.ll_base, 1, 0.05);
      EXPECT_NEAR(found.ll_step / made.ll_step, 1, 0.05);
      EXPECT_NEAR(found.ll_memory / made.ll_memory, 1, 0.1);
      EXPECT_NEAR(found.simple_base / made.simple_base, 1, 0.1);
    }
  }
  EXPECT_NEAR(of(fit(tables(h100s, kRings, truth(nccl::NodeClass::hopper))), Operation::all_reduce)
                      .entry.ring.nvls_large_link /
                  truth(nccl::NodeClass::hopper).node[0].ring.nvls_large_link,
              1, 0.02);
}

// Large rows over NVLS determine two parameters; the others stay the class's, and are not called determined.
TEST(LinesFit, SaysWhichParametersRowsDetermine) {
  auto known = truth(nccl::NodeClass::hopper);
  auto all = tables(h100s, {Operation::all_reduce}, known);
  std::vector<Measurement> large{all.back()};
  ASSERT_EQ(large[0].communicator.ranks, 8);
  std::erase_if(large[0].table.rows, [](const TableRow& row) { return row.bytes < Bytes(256 * 1048576.0); });
  ASSERT_GE(large[0].table.rows.size(), 2U);
  auto entry = of(fit(large), Operation::all_reduce).entry;
  EXPECT_EQ(nccl::identified_names(entry), std::vector<std::string>{"nvls_large_link"});
  EXPECT_EQ(entry.ring.ll_base, nccl::class_lines(nccl::NodeClass::hopper).all_reduce.ll_base);
  auto whole = nccl::identified_names(of(fit(all), Operation::all_reduce).entry);
  for (const char* name : {"ll_base", "ll_step", "ll_memory", "simple_link", "nvls_large_link"})
    EXPECT_NE(std::find(whole.begin(), whole.end(), name), whole.end()) << name;
  // A fit that starts from known lines keeps what was determined there, and says what by.
  nccl::Calibration before;
  before.node = {of(fit(all), Operation::all_reduce).entry};
  before.node[0].fitted_to = {{.table = "before", .ranks = 4}};
  auto again = of(fit_lines({&large[0]}, before), Operation::all_reduce).entry;
  EXPECT_EQ(nccl::identified_names(again), whole);
  ASSERT_EQ(again.fitted_to.size(), 1U);
  EXPECT_EQ(again.fitted_to[0].table, "before");
}

TEST(LinesFit, FindsTheLinesOfAllToAll) {
  auto known = truth(nccl::NodeClass::hopper);
  auto all = tables(h100s, {Operation::all_to_all}, known);
  auto fitted = fit(all);
  ASSERT_EQ(fitted.size(), 1U);
  EXPECT_LT(worst_error(all, fitted), 0.02);
  const auto &found = fitted[0].entry.peers, &made = known.in_node(Operation::all_to_all)->peers;
  EXPECT_NEAR(found.ll_base / made.ll_base, 1, 0.03);
  EXPECT_NEAR(found.base / made.base, 1, 0.05);
  // Only NCCL 2.22 to 2.28 spread LL over many channels.
  EXPECT_EQ(found.ll_link, nccl::class_lines(nccl::NodeClass::hopper).all_to_all.ll_link);
}

// One machine has one set of latencies; its operations differ by what memory does to their bandwidth.
TEST(LinesFit, OperationsShareLatencies) {
  auto wobble = [](int row) { return row % 2 == 0 ? 1.03 : 1 / 1.03; };
  auto fitted = fit(tables(h100s, kRings, truth(nccl::NodeClass::hopper), wobble));
  ASSERT_EQ(fitted.size(), 3U);
  for (const auto& p : kRingParameters) {
    double first = fitted[0].entry.ring.*p.value, second = fitted[1].entry.ring.*p.value;
    bool own = p.name == "ll_memory" || p.name == "simple_link" || p.name == "simple_memory";
    if (own) {
      EXPECT_NE(first, second) << p.name;
    } else if (is_informed(fitted[0], p.name)) {
      EXPECT_EQ(first, second) << p.name;
    }
  }
}

// A100s have no NVLS and, on two GPUs, no row of single rounds that bind: what no row informs is the class's,
// latencies as much longer as LL's are.
TEST(LinesFit, WhatNoRowInformsIsTheClassesButForItsLatencies) {
  auto lines = of(fit(tables(nvlink_a100s, kRings, truth(nccl::NodeClass::ampere))), Operation::all_reduce);
  const auto& known = nccl::class_lines(nccl::NodeClass::ampere).all_reduce;
  const auto& ring = lines.entry.ring;
  double longer = std::sqrt(ring.ll_base / known.ll_base * ring.ll_step / known.ll_step);
  EXPECT_NEAR(longer, 1.3, 0.03);
  for (const char* name : {"nvls_base", "nvls_link", "nvls_large_base", "round_base", "round_link"})
    EXPECT_FALSE(is_informed(lines, name)) << name;
  EXPECT_NEAR(ring.nvls_base, longer * known.nvls_base, 1e-9);
  EXPECT_NEAR(ring.round_step, longer * known.round_step, 1e-9);
  EXPECT_EQ(ring.nvls_link, known.nvls_link);
  EXPECT_EQ(ring.round_link, known.round_link);
}

TEST(LinesFit, SingleRoundsBindOnBlackwell) {
  auto blackwell = [](int ranks) {
    auto c = h100s(ranks);
    c.gpu = nccl::Gpu::blackwell;
    c.nvlink_peak = c.ring_peak = BytesPerSecond(900e9);
    c.ring = c.tree = {16, 40, 40};
    return c;
  };
  auto fitted = fit(tables(blackwell, {Operation::all_gather}, truth(nccl::NodeClass::blackwell)));
  EXPECT_TRUE(is_informed(fitted[0], "round_step"));
  EXPECT_FALSE(is_informed(fitted[0], "nvls_base"));
}

// What a machine's calibration has is nearer than the class.
TEST(LinesFit, StartsFromWhatIsKnown) {
  auto known = truth(nccl::NodeClass::ampere);
  auto few = with_rows(on_lines(a100s(), Operation::all_reduce, known), 3);
  auto ring = fit({few}, known).front().entry.ring, from_class = fit({few}).front().entry.ring;
  EXPECT_NEAR(ring.simple_base, known.node[0].ring.simple_base, 1e-9);
  EXPECT_LT(from_class.ll_memory, 1.01 * nccl::class_lines(nccl::NodeClass::ampere).all_reduce.ll_memory);
}

// Of two machines, one of which has no row above 64 KiB: LL is the mean of both, Simple that of the other.
TEST(LinesFit, TheMeanIsOverThoseThatKnow) {
  auto known = truth(nccl::NodeClass::ampere);
  auto whole = fit({on_lines(a100s(), Operation::all_reduce, known)}).front();
  auto small = fit({with_rows(on_lines(a100s(), Operation::all_reduce, {}), 8)}).front();
  ASSERT_FALSE(is_informed(small, "simple_base"));
  auto mean = mean_of({small, whole});
  EXPECT_NEAR(mean.entry.ring.ll_base, std::sqrt(small.entry.ring.ll_base * whole.entry.ring.ll_base), 1e-9);
  EXPECT_NEAR(mean.entry.ring.simple_base, whole.entry.ring.simple_base, 1e-9);
  EXPECT_TRUE(is_informed(mean, "simple_base"));
}

TEST(FitMachine, WhatCanOnlyBeJudged) {
  auto refused = [](const Measurement& m) {
    auto message = testing::input_error([&] { fit_machine({m}, {}); });
    return message.substr(message.find("error: ") + 7);
  };
  auto across = with_rows(on_lines(a100s(2), Operation::all_gather, {}), 21);
  EXPECT_EQ(refused(across),
            "times of all_gather across nodes can be judged, not fitted\nhint: curves are fitted to "
            "all_reduce; give this table to --judge");
  auto rooted = on_lines(a100s(), Operation::broadcast, {});
  EXPECT_EQ(refused(rooted).substr(0, 58), "times of broadcast inside a node can be judged, not fitted");
}

}  // namespace
}  // namespace ddpsim::calibrate
