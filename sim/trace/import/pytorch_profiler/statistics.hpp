#pragma once
// Of some steps' times.
#include <optional>
#include <vector>

namespace ddpsim::pytorch_profiler {

// Each of at least one value; the median of an even number is the mean of the two in the middle.
double mean(const std::vector<double>& values);
double median(std::vector<double> values);

// With n - 1 in the denominator; none of fewer than two values.
std::optional<double> standard_deviation(const std::vector<double>& values);

}  // namespace ddpsim::pytorch_profiler
