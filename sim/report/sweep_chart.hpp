#pragma once
// A sweep as a picture.
#include <optional>

#include "sim/report/chart.hpp"
#include "sim/report/sweep_result.hpp"

namespace ddpsim {

// The axis of line_chart: ddp.bucket_cap, else the first axis of two or more different positive numbers.
std::optional<std::size_t> line_axis(const SweepResult& result);

// Iteration time along an axis on a logarithmic scale, one line a group of the other axes. Along
// ddp.bucket_cap the best point of each group is marked; a group without caps is a level.
Chart line_chart(const SweepResult& result, std::size_t axis);

// One bar a point: what adds up to its iteration.
Chart bar_chart(const SweepResult& result);

// Of iterations, simulated and measured.
Seconds longest_time(const SweepResult& result);

// Lines where there is an axis for them, else bars.
Chart sweep_chart(const SweepResult& result);

}  // namespace ddpsim
