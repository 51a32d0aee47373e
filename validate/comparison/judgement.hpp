#pragma once
// Whether a threshold is missed, where times are known to an interval only: docs/validation.md, "When a
// threshold is missed".
#include <optional>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/result/metrics.hpp"

namespace ddpsim::validate {

// A time, and from where to where it may be.
struct UncertainTime {
  Seconds value, least, most;

  // The distance to the farther end, as a share of the time.
  [[nodiscard]] double noise() const;
};

// The median of repetitions with the ends of its 95 % confidence interval. Without the repetitions, the
// standard deviation on either side; as it is where nothing is known of its noise.
UncertainTime measured_time(Seconds median, const std::vector<Seconds>& samples,
                            std::optional<Seconds> deviation);
// With the range that the prediction has for itself, if it has one.
UncertainTime predicted_time(const IterationMetrics& metrics);

struct ComparedTime {
  UncertainTime predicted, measured;
};

// An error or a regret: shares.
struct UncertainShare {
  double value = 0;            // as predicted and measured
  double least = 0;            // what of it neither side's noise explains
  double most = 0;             // within the measurement's noise
  double noise = 0;            // of the measurement
  double beyond_measured = 0;  // what the measurement's noise alone does not explain
};

// |error| of a prediction.
UncertainShare error_of(const ComparedTime& point);
// Of having chosen one point where there was another one.
UncertainShare regret_of(const ComparedTime& chosen, const ComparedTime& other);

// too_vague: only what the prediction admits itself keeps it from being missed.
enum class Judgement { met, missed, too_noisy, too_vague };

// A value that is just the threshold meets it.
Judgement judgement_of(const UncertainShare& share, double threshold);

}  // namespace ddpsim::validate
