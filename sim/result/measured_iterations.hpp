#pragma once
// Somebody's measured iteration times (validation.measured) and the predictions they belong to.
#include <optional>
#include <string>
#include <vector>

#include "sim/result/sweep_result.hpp"

namespace ddpsim {

// Reads a CSV of iteration_s and, where given, iteration_std_s, tail_s, communication_s, bucket_cap_bytes,
// strategy and world_size; a field left empty says nothing about its row. Throws InputError for other
// columns, for times that are not positive and finite, and for two rows about the same run.
std::vector<MeasuredIteration> read_measured_iterations(const std::string& path);

// The measurement of that very run: each column its row gives agrees, the cap exactly. A row that names a
// strategy without caps matches whatever its cap. Among several the row that gives most columns, then the
// first.
std::optional<MeasuredIteration> matching(const std::vector<MeasuredIteration>& measured,
                                          const IterationMetrics& metrics);

// The same for a row's strategy and world size alone.
bool agrees_but_for_cap(const MeasuredIteration& row, const IterationMetrics& metrics);

}  // namespace ddpsim
