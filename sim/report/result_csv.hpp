#pragma once
// Results as CSV: the keys of the JSON as columns, numbers in their shortest form that reads back exactly.
#include <string>

#include "sim/result/metrics.hpp"
#include "sim/result/sweep_result.hpp"

namespace ddpsim {

// One row a point. Axes whose values are no result key come first, each under its scenario key; "best" is 1
// for the best point of its group; measured columns follow where anything was measured, then
// "trace_synthetic" where any point's trace is.
std::string sweep_csv(const SweepResult& result);

// One row a bucket.
std::string buckets_csv(const IterationMetrics& metrics);

}  // namespace ddpsim
