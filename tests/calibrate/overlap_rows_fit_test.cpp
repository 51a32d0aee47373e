#include "sim/calibrate/overlap_rows_fit.hpp"

#include <random>

#include <gtest/gtest.h>

#include "sim/base/source.hpp"

#include "tests/support/errors.hpp"

namespace ddpsim::calibrate {
namespace {

constexpr double kCompute = 1, kInFlight = 0.4;

// A second of compute, 0.4 s of collectives hidden in it, a tail of a tenth of what r makes of them; ranks
// double the spread.
OverlappedIteration iteration(const MeasuredOverlap& row, const OverlapParameters& p) {
  double compute = kCompute * (1 + p.spread.value_or(0) * row.ranks / 8);
  double tail = 0.1 * kInFlight * (1 + p.collective);
  double launches = row.buckets * p.launch.value_or(Seconds()).value();
  return {
      Seconds(compute + kInFlight * (1 + 2 * p.collective) * p.compute / (1 + p.compute) + launches + tail),
      Seconds(tail), Seconds(kInFlight * (1 + p.collective))};
}

// What a machine of that truth measures, by 0.1 % more and less in turns.
std::vector<MeasuredOverlap> rows_of(const OverlapParameters& truth, std::vector<MeasuredOverlap> rows,
                                     bool tails) {
  double sign = 1;
  for (auto& row : rows) {
    auto [exact, tail, in_flight] = iteration(row, truth);
    row.measured = {exact * (1 + 1e-3 * (sign = -sign)), tails ? tail : std::nullopt};
  }
  return rows;
}

PredictOverlaps predictor(const std::vector<MeasuredOverlap>& rows) {
  return [&rows](const OverlapParameters& p) {
    std::vector<OverlappedIteration> all;
    for (const auto& row : rows) all.push_back(iteration(row, p));
    return all;
  };
}

const std::vector<MeasuredOverlap> kCaps{{{}, 10, 8}, {{}, 20, 8},  {{}, 40, 8},
                                         {{}, 80, 8}, {{}, 160, 8}, {{}, 320, 8}};

TEST(OverlapRowsFit, FindsTheLaunchThatRowsOfManyBucketsHave) {
  auto rows = rows_of({0.3, 0.3, Seconds(2e-4), {}}, kCaps, false);
  auto fit = fit_overlap_rows(rows, predictor(rows));
  EXPECT_NEAR(fit.parameters.compute, 0.3, 0.03);
  EXPECT_NEAR(fit.parameters.launch.value().value(), 2e-4, 2e-5);
  EXPECT_FALSE(fit.parameters.spread);
  EXPECT_LT(fit.others[0].standard_error.value(), 2e-5);
  EXPECT_EQ(fit.others[1].because, "all rows have as many GPUs");
  EXPECT_EQ(fit.others[2].because, "fewer than two rows have a tail or a time in flight");
}

TEST(OverlapRowsFit, LeavesOutWhatTheRowsDoWithout) {
  auto rows = rows_of({0.3, 0.3, Seconds(), {}}, kCaps, false);
  auto fit = fit_overlap_rows(rows, predictor(rows));
  EXPECT_NEAR(fit.parameters.compute, 0.3, 0.02);
  EXPECT_FALSE(fit.parameters.launch);
  EXPECT_EQ(fit.others[0].because, "the rows fit about as well without");
}

TEST(OverlapRowsFit, SpreadShowsOnMoreGpus) {
  auto sizes = kCaps;
  for (std::size_t i = 0; i < sizes.size(); ++i) sizes[i].ranks = 8 << i;
  auto rows = rows_of({0.3, 0.3, {}, 0.01}, sizes, false);
  auto fit = fit_overlap_rows(rows, predictor(rows));
  EXPECT_NEAR(fit.parameters.spread.value(), 0.01, 1e-3);
}

TEST(OverlapRowsFit, TailsTellCollectivesFromCompute) {
  auto rows = rows_of({0.3, 0.6, {}, {}}, kCaps, true);
  auto fit = fit_overlap_rows(rows, predictor(rows));
  EXPECT_NEAR(fit.parameters.compute, 0.3, 0.03);
  EXPECT_NEAR(fit.parameters.collective, 0.6, 0.05);
}

TEST(OverlapRowsFit, TimesInFlightDoSoToo) {
  OverlapParameters truth{0.3, 0.6, {}, {}};
  auto rows = rows_of(truth, kCaps, false);
  for (auto& row : rows) row.measured.communication = iteration(row, truth).communication;
  auto fit = fit_overlap_rows(rows, predictor(rows));
  EXPECT_NEAR(fit.parameters.compute, 0.3, 0.03);
  EXPECT_NEAR(fit.parameters.collective, 0.6, 0.05);
}

// Two rows and two unknowns are a solution, not a fit; with the launch known there is one unknown.
TEST(OverlapRowsFit, TooFewRows) {
  auto rows = rows_of({0.3, 0.3, {}, {}}, {kCaps[0], kCaps[5]}, false);
  EXPECT_EQ(testing::input_error([&] { fit_overlap_rows(rows, predictor(rows)); }),
            "error: 2 rows cannot tell interference, launch apart: 3 are needed\nhint: measure more, say "
            "physics.launch or spread in the scenario, or fit to one row without --all-rows");
  auto fit = fit_overlap_rows(rows, predictor(rows), {.launch = true});
  EXPECT_NEAR(fit.parameters.compute, 0.3, 0.03);
  EXPECT_EQ(fit.others[0].because, "as the scenario says");
  rows.resize(1);
  EXPECT_THROW(fit_overlap_rows(rows, predictor(rows)), InputError);
}

// Draws of noise in which there is no launch: a certainty of 95 % is wrong in some 5 of 100, however few the
// rows.
TEST(OverlapRowsFit, FewRowsAreNotCertainTooEasily) {
  for (std::size_t n : {3U, 4U, 6U}) {
    int found = 0;
    for (int draw = 0; draw < 200; ++draw) {
      auto rows =
          rows_of({0.3, 0.3, {}, {}}, {kCaps.begin(), kCaps.begin() + static_cast<std::ptrdiff_t>(n)}, false);
      std::mt19937 random(static_cast<unsigned>(draw));
      for (auto& row : rows) {
        double sum = -6;  // of 12 uniform ones: normal
        for (int k = 0; k < 12; ++k) sum += static_cast<double>(random()) / 4294967296.0;
        row.measured.iteration = iteration(row, {0.3, 0.3, {}, {}}).iteration * (1 + 3e-3 * sum);
      }
      found += fit_overlap_rows(rows, predictor(rows)).parameters.launch.has_value();
    }
    EXPECT_LE(found, 12) << n << " rows";
  }
}

TEST(OverlapRowsFit, NothingOverlaps) {
  auto rows = rows_of({0.3, 0.3, {}, {}}, kCaps, false);
  EXPECT_THROW(fit_overlap_rows(rows, [&](const OverlapParameters&) { return predictor(rows)({}); }),
               InputError);
}

TEST(OverlapRowsFit, RefusesAFitThatMissesItsOwnRows) {
  auto rows = rows_of({0.3, 0.3, {}, {}}, kCaps, false);
  rows[2].measured.iteration = 3 * rows[2].measured.iteration;
  EXPECT_THROW(fit_overlap_rows(rows, predictor(rows)), InputError);
}

}  // namespace
}  // namespace ddpsim::calibrate
