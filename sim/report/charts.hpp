#pragma once
// The pictures that there are, as charts.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/ddp/reduction_plan.hpp"
#include "sim/report/chart.hpp"
#include "sim/result/metrics.hpp"
#include "sim/result/sweep_result.hpp"

namespace ddpsim {

// The axis of line_chart: ddp.bucket_cap, else the first axis of two or more different positive numbers.
std::optional<std::size_t> line_axis(const SweepResult& result);
// Of iterations, simulated and measured.
Seconds longest_time(const SweepResult& result);

// A sweep's iteration times along an axis on a logarithmic scale, one line a group of the other axes. Along
// ddp.bucket_cap the best point of each group is marked; a group without caps is a level.
Chart line_chart(const SweepResult& result, std::size_t axis);
// One bar a point: what adds up to its iteration.
Chart bar_chart(const SweepResult& result);
// A tornado: how wide an iteration's 80 % interval is, and would be if one part alone were in doubt.
Chart width_chart(const Uncertainty& uncertainty, const std::string& title);
// Lines where there is an axis for them, else bars.
Chart sweep_chart(const SweepResult& result);

// One step as a Gantt chart: a lane of compute and one for each collective at once, of every class of ranks
// that do the same: as many classes as there is room for, the last to finish among them. Collectives have
// their bucket's number where there is room. `name` is the scenario's.
Chart gantt_chart(const Timeline& timeline, const IterationMetrics& metrics, const std::string& name);

// A trace: how many bytes of gradients are ready when, and how many lie in complete buckets, as stairs over
// the backward pass, and a mark at the moment at which each bucket is complete, with its number above. Of
// many buckets as many are numbered as there is room for.
Chart backward_chart(const LayerTrace& trace, const ReductionPlan& plan);

struct BandwidthSeries {
  std::string title;
  std::vector<std::pair<Bytes, BytesPerSecond>> measured, predicted;  // algbw by message size
};
// algbw over message size: squares as measured, a line as predicted, in the colour of the series.
Chart bandwidth_chart(const std::vector<BandwidthSeries>& series);

}  // namespace ddpsim
