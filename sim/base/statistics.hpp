#pragma once
// Of a sample of at least one value.
#include <cstddef>
#include <optional>
#include <vector>

namespace ddpsim {

double mean(const std::vector<double>& values);

// The value below which this share of the others lies, from 0 (the smallest) to 1 (the largest); between two
// neighbours on the straight line that joins them.
double quantile(std::vector<double> values, double share);

// The index of the smallest value that at least this share of the values, from 0 to 1, does not exceed: of
// equals the first.
std::size_t nearest_rank(const std::vector<double>& values, double share);

// Of an even number of values the mean of the two in the middle.
double median(std::vector<double> values);

// With n - 1 in the denominator; none of fewer than two values.
std::optional<double> standard_deviation(const std::vector<double>& values);

}  // namespace ddpsim
