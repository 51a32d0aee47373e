// Curves found again in tables that were made with them.
#include "sim/calibrate/fit.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "tests/calibrate/measured_machines.hpp"

namespace ddpsim::calibrate {
namespace {

const nccl::Curve kTruth{1.8, 0.93, Seconds(12e-6)};
const Prior kWeak{{1.5, 1, Seconds(15e-6)}, 1e6, 1e6, 1e6};

nccl::Curve fit_one(const Measurement& measurement, const Prior& prior) {
  return fit_curve({{&measurement, points_of(measurement.table)}}, prior);
}

// In logarithms: shares.
void expect_curve(const nccl::Curve& found, const nccl::Curve& truth, double latency, double efficiency,
                  double ramp) {
  EXPECT_NEAR(std::log(found.latency_scale / truth.latency_scale), 0, latency);
  EXPECT_NEAR(std::log(found.efficiency / truth.efficiency), 0, efficiency);
  EXPECT_NEAR(std::log(found.ramp / truth.ramp), 0, ramp);
}

TEST(Fit, FindsTheCurveOfATableWithoutNoise) {
  for (int nodes : {1, 2})
    expect_curve(fit_one(measured(a100s(nodes), kTruth), kWeak), kTruth, 1e-4, 1e-5, 1e-4);
}

TEST(Fit, FindsTheCurveOfSeveralTablesAtOnce) {
  std::vector<Measurement> machine;
  for (int ranks : {2, 4, 8}) machine.push_back(measured(a100s(1, ranks), kTruth));
  std::vector<Sample> samples;
  for (const auto& table : machine) samples.push_back({&table, points_of(table.table)});
  expect_curve(fit_curve(samples, kWeak), kTruth, 1e-4, 1e-5, 1e-4);
}

// One row ten times too slow: squares of logarithms would spread it over all parameters.
TEST(Fit, AGrossOutlierMovesLittle) {
  for (int outlier : {0, 6, 12}) {
    auto table = measured(a100s(), kTruth, [&](int row) { return row == outlier ? 10.0 : 1.0; });
    auto found = fit_one(table, prior_for(table, nullptr));
    for (const auto& point : points_of(table.table)) {
      if (point.bytes == table.table.rows[static_cast<std::size_t>(outlier)].bytes) continue;
      double error = std::abs(std::log(table.shape.time(found, point.bytes) / point.measured));
      EXPECT_LT(error, 0.1) << "outlier " << outlier << ", " << point.bytes.value() << " B";
    }
  }
}

// Noise of 3 % up and down: within what the unit error of 5 % allows.
TEST(Fit, NoiseAveragesOut) {
  auto table = measured(a100s(), kTruth, [](int row) { return row % 2 == 0 ? 1.03 : 1 / 1.03; });
  auto found = fit_one(table, kWeak);
  for (const auto& row : table.table.rows)
    EXPECT_NEAR(std::log(table.shape.time(found, row.bytes) / table.shape.time(kTruth, row.bytes)), 0, 0.03);
}

// With few rows the prior decides what they do not say; with none at all it is the answer.
TEST(Fit, ThePriorDominatesWithFewRows) {
  nccl::Curve known{1.2, 0.99, Seconds(8e-6)};
  auto table = measured(a100s(), {3, 0.7, Seconds(60e-6)});
  auto distance = [&](std::size_t rows) {
    auto found = fit_one(with_rows(table, rows), prior_for(table, &known));
    return std::abs(std::log(found.ramp / known.ramp)) +
           std::abs(std::log(found.efficiency / known.efficiency));
  };
  EXPECT_NEAR(distance(0), 0, 1e-9);
  EXPECT_LT(distance(1), 0.25 * distance(13));
  EXPECT_GT(distance(13), 0.5);
}

TEST(Fit, WhatIsKnownIsTheMeanOfThePrior) {
  auto table = measured(a100s(), kTruth);
  nccl::Curve known{2, 0.9, Seconds(3e-6)};
  auto prior = prior_for(table, &known);
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
  machine.ring = machine.tree = {1, 10, 10};
  auto prior = prior_for(measured(machine, kTruth), nullptr);
  EXPECT_NEAR(prior.mean.ramp.value(), 0.15 * 4194304 / 10e9, 1e-12);
  EXPECT_EQ(prior.efficiency_width, 1.0);
  auto fast = prior_for(measured(a100s(), kTruth), nullptr);
  EXPECT_EQ(fast.mean, (nccl::Curve{1.5, 1, Seconds(15e-6)}));
  EXPECT_LT(fast.efficiency_width, prior.efficiency_width);
}

// The faster of the two places, from 256 KiB on.
TEST(Fit, PointsOfATable) {
  AllReduceTable table;
  table.rows = {{Bytes(262143), Seconds(1e-5), {}, {}},
                {Bytes(262144), Seconds(3e-5), Seconds(2e-5), {}},
                {Bytes(524288), Seconds(4e-5), Seconds(5e-5), {}},
                {Bytes(1048576), Seconds(6e-5), {}, {}}};
  auto points = points_of(table);
  ASSERT_EQ(points.size(), 3U);
  EXPECT_EQ(points[0].measured, Seconds(2e-5));
  EXPECT_DOUBLE_EQ(*points[0].places_ratio, 1.5);
  EXPECT_EQ(points[1].measured, Seconds(4e-5));
  EXPECT_DOUBLE_EQ(*points[1].places_ratio, 0.8);
  EXPECT_EQ(points[2].measured, Seconds(6e-5));
  EXPECT_FALSE(points[2].places_ratio);
}

// Tables within a node and across nodes inform a curve each, and so does a forced algorithm.
TEST(FitMachine, ACurveForEachAlgorithmAndScale) {
  nccl::Curve across{1.2, 0.8, Seconds(30e-6)}, tree{2.5, 0.85, Seconds(5e-6)};
  std::vector<Measurement> machine{measured(a100s(), kTruth), measured(a100s(2), across),
                                   measured(a100s(1, 4), kTruth),
                                   measured(a100s(2), tree, no_noise, {{nccl::Algorithm::tree}, {}})};
  auto calibration = fit_machine(machine, {});
  ASSERT_EQ(calibration.entries.size(), 3U);
  const auto* within = calibration.find(nccl::Algorithm::ring, false);
  ASSERT_TRUE(within);
  expect_curve(*within, kTruth, 0.1, 0.02, 0.1);
  ASSERT_TRUE(calibration.find(nccl::Algorithm::ring, true));
  ASSERT_TRUE(calibration.find(nccl::Algorithm::tree, true));
  EXPECT_GT(std::abs(std::log(calibration.find(nccl::Algorithm::ring, true)->ramp /
                              calibration.find(nccl::Algorithm::tree, true)->ramp)),
            0.5);
  EXPECT_FALSE(calibration.find(nccl::Algorithm::tree, false));
}

// What is known of one scale is not used for the other.
TEST(FitMachine, StartsFromWhatIsKnown) {
  nccl::Calibration known;
  known.entries = {{nccl::Algorithm::ring, false, kTruth}};
  auto one_row = with_rows(measured(a100s(), {9, 0.5, Seconds(1e-3)}), 1);
  auto from_known = fit_machine({one_row}, known), from_nothing = fit_machine({one_row}, {});
  const auto& with = from_known.entries.front().curve;
  const auto& without = from_nothing.entries.front().curve;
  EXPECT_LT(std::abs(std::log(with.efficiency / kTruth.efficiency)), 0.01);
  EXPECT_NE(with, without);
  auto across = with_rows(measured(a100s(2), {9, 0.5, Seconds(1e-3)}), 1);
  EXPECT_EQ(fit_machine({across}, known).entries.front().curve,
            fit_machine({across}, {}).entries.front().curve);
}

// A calibration file may say that there is no ramp.
TEST(FitMachine, StartsFromACurveWithoutARamp) {
  nccl::Calibration known;
  known.entries = {{nccl::Algorithm::ring, false, {1.5, 0.95, Seconds(0)}}};
  auto curve = fit_machine({measured(a100s(), kTruth)}, known).entries.front().curve;
  EXPECT_NEAR(std::log(curve.efficiency / kTruth.efficiency), 0, 0.3);
  EXPECT_GE(curve.ramp, Seconds(0));
  EXPECT_LT(curve.ramp, Seconds(1e-3));
}

// sqrt(1 x 4) = 2, sqrt(0.9 x 0.4) = 0.6, sqrt(2 x 8) = 4; a curve that one machine has alone stays.
TEST(Average, IsTheGeometricMean) {
  using nccl::Algorithm;
  std::vector<nccl::Calibration> machines(2);
  machines[0].entries = {{Algorithm::ring, false, {1, 0.9, Seconds(2e-6)}}};
  machines[1].entries = {{Algorithm::nvls, false, {7, 0.7, Seconds(7e-6)}},
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

TEST(Average, OfMachinesIsBetweenThem) {
  std::vector<nccl::Calibration> fitted;
  for (double ramp_us : {5.0, 20.0})
    fitted.push_back(fit_machine({measured(a100s(), {1.5, 0.95, Seconds(ramp_us * 1e-6)})}, {}));
  double low = fitted[0].entries[0].curve.ramp.value(), high = fitted[1].entries[0].curve.ramp.value();
  EXPECT_NEAR(average(fitted).entries[0].curve.ramp.value(), std::sqrt(low * high), 1e-15);
  EXPECT_LT(low, high);
}

}  // namespace
}  // namespace ddpsim::calibrate
