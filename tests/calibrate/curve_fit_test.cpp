// Curves found again in tables that were made with them.
#include "sim/calibrate/curve_fit.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "sim/calibrate/band_check.hpp"

#include "tests/calibrate/measured_machines.hpp"

namespace ddpsim::calibrate {
namespace {

const nccl::Curve kTruth{1.8, 0.93, Seconds(12e-6)};
const Prior kWeak{{1.5, 1, Seconds(15e-6)}, 1e6, 1e6, 1e6};

Prior prior_of(const Measurement& measurement, const nccl::Curve* known) {
  return prior_for(measurement, CurveSample(measurement).large_algorithm(), known);
}

nccl::Curve fit_one(const Measurement& measurement, const Prior& prior) {
  CurveSample sample(measurement);
  return fit_curve({sample}, sample.large_algorithm(), prior);
}

// In logarithms: shares.
void expect_curve(const nccl::Curve& found, const nccl::Curve& truth, double latency, double efficiency,
                  double ramp) {
  EXPECT_NEAR(std::log(found.latency_scale / truth.latency_scale), 0, latency);
  EXPECT_NEAR(std::log(found.efficiency / truth.efficiency), 0, efficiency);
  EXPECT_NEAR(std::log(found.ramp / truth.ramp), 0, ramp);
}

TEST(Fit, FindsTheCurveOfATableWithoutNoise) {
  for (int nodes : {2, 4})
    expect_curve(fit_one(measured(a100s(nodes), kTruth), kWeak), kTruth, 1e-4, 1e-5, 1e-4);
}

TEST(Fit, FindsTheCurveOfSeveralTablesAtOnce) {
  std::vector<Measurement> machine;
  for (int ranks : {2, 4, 8}) machine.push_back(measured(a100s(2, ranks), kTruth));
  std::vector<CurveSample> samples(machine.begin(), machine.end());
  expect_curve(fit_curve(samples, nccl::Algorithm::ring, kWeak), kTruth, 1e-4, 1e-5, 1e-4);
}

// One row ten times too slow: squares of logarithms would spread it over all parameters.
TEST(Fit, AGrossOutlierMovesLittle) {
  for (int outlier : {0, 6, 12}) {
    auto table = measured(a100s(2), kTruth, [&](int row) { return row == outlier ? 10.0 : 1.0; });
    auto found = fit_one(table, prior_of(table, nullptr));
    for (const auto& point : points_of(table.table)) {
      if (point.bytes == table.table.rows[static_cast<std::size_t>(outlier)].bytes) continue;
      double error = std::abs(std::log(CurveSample(table).time(found, point.bytes) / point.measured));
      EXPECT_LT(error, 0.1) << "outlier " << outlier << ", " << point.bytes.value() << " B";
    }
  }
}

// Noise of 3 % up and down: within what the unit error of 5 % allows.
TEST(Fit, NoiseAveragesOut) {
  auto table = measured(a100s(2), kTruth, [](int row) { return row % 2 == 0 ? 1.03 : 1 / 1.03; });
  auto found = fit_one(table, kWeak);
  for (const auto& row : table.table.rows)
    EXPECT_NEAR(
        std::log(CurveSample(table).time(found, row.bytes) / CurveSample(table).time(kTruth, row.bytes)), 0,
        0.03);
}

// With few rows the prior decides what they do not say; with none at all it is the answer.
TEST(Fit, ThePriorDominatesWithFewRows) {
  nccl::Curve known{1.2, 0.99, Seconds(8e-6)};
  auto table = measured(a100s(2), {3, 0.7, Seconds(60e-6)});
  auto distance = [&](std::size_t rows) {
    auto found = fit_one(with_rows(table, rows), prior_of(table, &known));
    return std::abs(std::log(found.ramp / known.ramp)) +
           std::abs(std::log(found.efficiency / known.efficiency));
  };
  EXPECT_NEAR(distance(0), 0, 1e-9);
  EXPECT_LT(distance(1), 0.25 * distance(13));
  EXPECT_GT(distance(13), 0.5);
}

TEST(Fit, WhatIsKnownIsTheMeanOfThePrior) {
  auto table = measured(a100s(2), kTruth);
  nccl::Curve known{2, 0.9, Seconds(3e-6)};
  auto prior = prior_of(table, &known);
  EXPECT_EQ(prior.mean, known);
  EXPECT_EQ(prior.latency_width, 0.5);
  EXPECT_EQ(prior.efficiency_width, 0.06);
  EXPECT_EQ(prior.ramp_width, 0.35);
}

// Of slow links next to nothing is known, the ramp in proportion to what 4 MiB take: two L40S over 10 GB/s
// (algbw, 2 GPUs) take 419.4 us for 4 MiB, 15 % of which is 62.9 us.
TEST(Fit, KnowsLittleOfSlowLinks) {
  auto machine = a100s(1, 2);
  machine.nvlink = false;
  machine.nvlink_peak = {};
  machine.ring_peak = BytesPerSecond(10e9);
  machine.ring = machine.tree = {1, 10, 10};
  auto prior = prior_of(measured(machine, kTruth), nullptr);
  EXPECT_NEAR(prior.mean.ramp.value(), 0.15 * 4194304 / 10e9, 1e-12);
  EXPECT_EQ(prior.efficiency_width, 1.0);
  auto fast = prior_of(measured(a100s(2), kTruth), nullptr);
  EXPECT_EQ(fast.mean, (nccl::Curve{1.5, 1, Seconds(15e-6)}));
  EXPECT_LT(fast.efficiency_width, prior.efficiency_width);
}

// The faster of the two places, from the size that is asked for on.
TEST(Fit, PointsOfATable) {
  CollectiveTable table;
  table.rows = {{Bytes(262143), Seconds(1e-5), {}, {}},
                {Bytes(262144), Seconds(3e-5), Seconds(2e-5), {}},
                {Bytes(524288), Seconds(4e-5), Seconds(5e-5), {}},
                {Bytes(1048576), Seconds(6e-5), {}, {}}};
  EXPECT_EQ(points_of(table).size(), 4U);
  auto points = points_of(table, kLarge);
  ASSERT_EQ(points.size(), 3U);
  EXPECT_EQ(points[0].measured, Seconds(2e-5));
  EXPECT_DOUBLE_EQ(*points[0].places_ratio, 1.5);
  EXPECT_EQ(points[1].measured, Seconds(4e-5));
  EXPECT_DOUBLE_EQ(*points[1].places_ratio, 0.8);
  EXPECT_EQ(points[2].measured, Seconds(6e-5));
  EXPECT_FALSE(points[2].places_ratio);
}

// Where NVLSTree carries large messages a ring has its own rows and curve, once there are five of them: with
// these speeds NCCL 2.26.2 takes the ring from 512 MiB on.
TEST(FitCurves, RingsHaveTheirOwn) {
  auto machine = h100s();
  machine.version = {2, 26, 2};
  machine.nodes = 4;
  machine.ranks = 32;
  machine.ring = machine.tree = {8, 45, 45};
  machine.nvls = nccl::Graph{8, 40, 48};
  machine.ring_peak = BytesPerSecond(400e9);
  nccl::Curve tree{1.2, 1.03, Seconds(20e-6)}, ring{1.3, 0.8, Seconds(12e-6)};
  auto m = unmeasured(machine);
  CurveSample sample(m);
  std::size_t ring_rows = 0;
  for (int row = 0; row < 17; ++row) {
    Bytes bytes = kLarge * std::exp2(row);
    bool is_ring = sample.curve_of(bytes) == nccl::Algorithm::ring;
    ring_rows += is_ring ? 1 : 0;
    m.table.rows.push_back({bytes, sample.time(is_ring ? ring : tree, bytes), {}, {}});
  }
  ASSERT_EQ(sample.large_algorithm(), nccl::Algorithm::nvls_tree);
  ASSERT_GE(ring_rows, 5U);
  std::vector<Note> notes;
  auto entries = fit_curves({&m}, {}, notes);
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].algorithm, nccl::Algorithm::nvls_tree);
  EXPECT_EQ(entries[1].algorithm, nccl::Algorithm::ring);
  EXPECT_EQ(entries[1].nodes, 4);
  EXPECT_EQ(entries[0].nodes, 0);  // a tree
  EXPECT_NEAR(std::log(entries[0].curve.efficiency / tree.efficiency), 0, 0.03);
  EXPECT_NEAR(std::log(entries[1].curve.efficiency / ring.efficiency), 0, 0.03);
  // The predictions are those of both curves.
  auto time = predictor(m, {entries, {}});
  for (const auto& point : points_of(m.table)) EXPECT_NEAR(time(point.bytes) / point.measured, 1, 0.03);
  auto fewer = with_rows(m, 17 - ring_rows + 4);
  EXPECT_EQ(fit_curves({&fewer}, {}, notes).size(), 1U);
}

// Tables of nodes and of several nodes inform a curve each, and so does a forced algorithm.
TEST(FitCurves, ACurveForEachAlgorithmAndScale) {
  auto pcie = a100s(1, 2);
  pcie.nvlink = false;
  pcie.nvlink_peak = {};
  pcie.ring = pcie.tree = {1, 10, 10};
  nccl::Curve across{1.2, 0.8, Seconds(30e-6)}, tree{2.5, 0.85, Seconds(5e-6)};
  auto one = measured(pcie, kTruth), other = measured(a100s(2), across),
       forced = measured(a100s(2), tree, no_noise, {{nccl::Algorithm::tree}, {}});
  std::vector<Note> notes;
  auto entries = fit_curves({&one, &other, &forced}, {}, notes);
  nccl::Calibration calibration{entries, {}};
  ASSERT_EQ(entries.size(), 3U);
  ASSERT_TRUE(calibration.find(nccl::Algorithm::ring, false));
  expect_curve(*calibration.find(nccl::Algorithm::ring, false), kTruth, 0.2, 0.02, 0.5);
  ASSERT_TRUE(calibration.find(nccl::Algorithm::ring, true));
  ASSERT_TRUE(calibration.find(nccl::Algorithm::tree, true));
  EXPECT_GT(std::abs(std::log(calibration.find(nccl::Algorithm::ring, true)->ramp /
                              calibration.find(nccl::Algorithm::tree, true)->ramp)),
            0.5);
  EXPECT_FALSE(calibration.find(nccl::Algorithm::tree, false));
}

TEST(FitCurves, StartsFromWhatIsKnown) {
  nccl::Calibration known;
  known.entries = {{nccl::Algorithm::ring, true, kTruth}};
  auto one_row = with_rows(measured(a100s(2), {9, 0.5, Seconds(1e-3)}), 1);
  std::vector<Note> notes;
  auto with = fit_curves({&one_row}, known, notes).front().curve,
       without = fit_curves({&one_row}, {}, notes).front().curve;
  EXPECT_LT(std::abs(std::log(with.efficiency / kTruth.efficiency)), 0.01);
  EXPECT_NE(with, without);
}

// Four GPUs on PCIe whose large messages start late and whose small ones do not: small rows hold the latency.
TEST(FitCurves, MakesNoBandOfSizesWorse) {
  auto pcie = a100s(1, 4);
  pcie.nvlink = false;
  pcie.nvlink_peak = {};
  pcie.ring = pcie.tree = {1, 10, 10};
  nccl::Calibration known;
  known.entries = {{nccl::Algorithm::ring, false, {0.7, 0.5, Seconds(20e-6)}}};
  auto large = measured(pcie, {4, 0.49, Seconds(300e-6)}), m = unmeasured(pcie);
  for (double bytes = 512; bytes < kLarge.value(); bytes *= 2)
    m.table.rows.push_back({Bytes(bytes), predictor(m, known)(Bytes(bytes)), {}, {}});
  m.table.rows.insert(m.table.rows.end(), large.table.rows.begin(), large.table.rows.end());
  CurveSample sample(m);
  auto alone = known;
  alone.entries.front().curve =
      fit_curve({sample}, nccl::Algorithm::ring, prior_of(m, &known.entries.front().curve));
  auto worse = worse_band({&m}, known, alone);
  ASSERT_TRUE(worse);
  EXPECT_EQ(worse->band.below, kLarge);
  EXPECT_LT(worse->before, 1e-9);
  std::vector<Note> notes;
  auto entries = fit_curves({&m}, known, notes);
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_FALSE(worse_band({&m}, known, {entries, {}}));
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes.front().code, "calibration-band");
  // Nothing to say where all rows are of one curve.
  notes.clear();
  fit_curves({&large}, known, notes);
  EXPECT_TRUE(notes.empty());
}

// A calibration file may say that there is no ramp.
TEST(FitCurves, StartsFromACurveWithoutARamp) {
  nccl::Calibration known;
  known.entries = {{nccl::Algorithm::ring, true, {1.5, 0.95, Seconds(0)}}};
  auto table = measured(a100s(2), kTruth);
  std::vector<Note> notes;
  auto curve = fit_curves({&table}, known, notes).front().curve;
  EXPECT_NEAR(std::log(curve.efficiency / kTruth.efficiency), 0, 0.3);
  EXPECT_GE(curve.ramp, Seconds(0));
  EXPECT_LT(curve.ramp, Seconds(1e-3));
}

// sqrt(1 x 4) = 2, sqrt(0.9 x 0.4) = 0.6, sqrt(2 x 8) = 4; a curve that one machine has alone stays.
TEST(Average, IsTheGeometricMean) {
  using nccl::Algorithm;
  std::vector<MachineFit> machines(2);
  machines[0].curves = {{Algorithm::ring, false, {1, 0.9, Seconds(2e-6)}}};
  machines[1].curves = {{Algorithm::nvls, false, {7, 0.7, Seconds(7e-6)}},
                        {Algorithm::ring, false, {4, 0.4, Seconds(8e-6)}},
                        {Algorithm::ring, true, {3, 0.3, Seconds(3e-6)}}};
  auto mean = average(machines);
  ASSERT_EQ(mean.entries.size(), 3U);
  auto expect = [&](Algorithm algorithm, bool across, double latency, double efficiency, double ramp_us) {
    const auto* curve = mean.find(algorithm, across);
    ASSERT_TRUE(curve);
    EXPECT_NEAR(curve->latency_scale, latency, 1e-12);
    EXPECT_NEAR(curve->efficiency, efficiency, 1e-12);
    EXPECT_NEAR(curve->ramp.value() * 1e6, ramp_us, 1e-9);
  };
  expect(Algorithm::ring, false, 2, 0.6, 4);
  expect(Algorithm::nvls, false, 7, 0.7, 7);
  expect(Algorithm::ring, true, 3, 0.3, 3);
  EXPECT_TRUE(average({}).entries.empty());
}

TEST(WithRestOf, KeepsWhatNothingWasFittedOf) {
  using nccl::Algorithm;
  nccl::Calibration known, fitted;
  known.entries = {{Algorithm::ring, true, kTruth}, {Algorithm::tree, true, kTruth}};
  known.entries[1].fitted_to = {{.table = "t.csv", .ranks = 16}};
  known.node = {{Operation::all_reduce}, {Operation::all_to_all}};
  fitted.entries = {{Algorithm::ring, true, {3, 0.3, Seconds(3e-6)}}};
  fitted.node = {{Operation::all_reduce}};
  fitted.node[0].ring.ll_base = 8;
  auto all = with_rest_of(known, fitted);
  ASSERT_EQ(all.entries.size(), 2U);
  EXPECT_EQ(all.find(Algorithm::ring, true)->latency_scale, 3);
  EXPECT_EQ(*all.find(Algorithm::tree, true), kTruth);
  EXPECT_EQ(largest_ranks(all.entries[1].fitted_to), 16);
  ASSERT_EQ(all.node.size(), 2U);
  EXPECT_EQ(all.in_node(Operation::all_reduce)->ring.ll_base, 8);
  EXPECT_TRUE(all.in_node(Operation::all_to_all));
}

}  // namespace
}  // namespace ddpsim::calibrate
