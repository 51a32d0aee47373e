#pragma once
// Predictions beside what was measured of the same points, and how far apart they are.
#include <optional>
#include <string>
#include <vector>

#include "validate/comparison/judgement.hpp"
#include "validate/harness/step.hpp"

#include "sim/result/metrics.hpp"
#include "sim/result/sweep_result.hpp"

namespace ddpsim::validate {

// One bucket. Times count from the start of the (last) backward pass; measured ones are medians of the
// slowest rank's.
struct ComparedBucket {
  BucketMetrics predicted;
  CollectiveTimes measured;

  // Predicted over measured end, minus 1; none where the measured one is not after the start of the backward
  // pass.
  [[nodiscard]] std::optional<double> end_error() const;
};

// One point of the sweep.
struct ComparedPoint {
  std::vector<std::string> axis_values;  // as in SweepPoint
  IterationMetrics predicted;
  std::vector<Seconds> samples;   // measured iterations in the order in which they were run; empty where only
                                  // somebody's median is known
  Seconds measured;               // their median
  std::optional<Seconds> spread;  // standard deviation
  bool settled = true;            // the stopping rule's precision was reached
  std::vector<ComparedBucket> buckets;  // empty where only iterations were measured

  // Both with what is not known of them.
  [[nodiscard]] ComparedTime times() const;
  // The ends of measured_time(); none where nothing is known of its noise.
  [[nodiscard]] std::optional<Seconds> measured_least() const;
  [[nodiscard]] std::optional<Seconds> measured_most() const;
  // Positive where the prediction is too slow.
  [[nodiscard]] double error() const { return predicted.iteration / measured - 1; }
  // The same for what bucketing can change: the iteration without forward, backward and optimizer, which a
  // replay takes from the trace, so that they cannot flatter the error. None where nothing of it was exposed
  // when measured (to 1 ns).
  [[nodiscard]] std::optional<double> exposed_error() const;
};

// What a choice by prediction costs: of the points of one group (SweepResult::best_by_group), the predicted
// best one's measured iteration over that of the measured best one, minus 1. Both are best by the rules of
// SweepResult, also among equals.
struct Choice {
  std::string group;                                  // empty where there is one only
  std::vector<std::size_t> points;                    // with one there was nothing to choose
  std::size_t predicted_best = 0, measured_best = 0;  // points
  double regret = 0;
  // Share of the pairs of the group's points that both order alike, of those whose measured medians differ by
  // more than twice the larger of their spreads (an unknown one counts as zero); none where there is no such
  // pair.
  std::optional<double> pairs_in_order;
};

struct Thresholds {
  std::optional<double> iteration_error;  // largest allowed |error| of any point: 0.05
  std::optional<double> regret;
};

struct ValidationReport {
  std::string title;  // the scenario file
  std::vector<std::string> axes;
  std::vector<ComparedPoint> points;
  // By group; empty where a sweep without bucket caps compares what nobody chooses
  // (SweepResult::compares_choices).
  std::vector<Choice> choices;
  Thresholds thresholds;
  std::string prediction;   // where predicted collective times come from: "all-reduces measured before, alone
                            // and queued"
  std::string measurement;  // "gloo, 8 ranks, compute replayed", or the file's name
  Environment environment;  // of the measurement; empty for a file

  // "ddp.bucket_cap 25MiB".
  [[nodiscard]] std::string name_of(std::size_t point) const;
  // synthetic_note() of the points.
  [[nodiscard]] std::string trace_note() const;
  // The point with the largest |error|, the first of equals.
  [[nodiscard]] std::size_t farthest() const;
  [[nodiscard]] double largest_error() const;  // |error|
  // None where no group has two points to choose from.
  [[nodiscard]] std::optional<double> largest_regret() const;
  // Sentences, one a threshold that was missed, or that there was nothing to hold against; empty when all is
  // well.
  [[nodiscard]] std::vector<std::string> missed() const;
  // Likewise of thresholds that the measurement is too noisy to be held against.
  [[nodiscard]] std::vector<std::string> too_noisy() const;
};

// `result` has the predictions, with a measurement in every point that is to be compared; those without are
// left out. Throws InputError where none is left.
ValidationReport compare(const SweepResult& result, const Thresholds& thresholds);

}  // namespace ddpsim::validate
