#pragma once
// When a measurement has been repeated often enough.
#include <optional>
#include <vector>

#include "validate/harness/step.hpp"

namespace ddpsim::validate {

// Holds the median of what was sampled with a confidence of at least 95 %, whatever its distribution: between
// two order statistics of the sample, by the binomial distribution (Le Boudec, Performance Evaluation of
// Computer and Communication Systems, theorem 2.1).
struct MedianInterval {
  double lower = 0, median = 0, upper = 0;
};

// None of fewer than six values: not even their whole range is that certain.
std::optional<MedianInterval> median_interval(std::vector<double> values);

enum class Verdict { go_on, settled, give_up };

// `spent`: how long the repetitions took, all together.
Verdict judge(const std::vector<Seconds>& samples, Seconds spent, const Sampling& sampling);

}  // namespace ddpsim::validate
