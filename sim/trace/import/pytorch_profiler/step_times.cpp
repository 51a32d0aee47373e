#include "sim/trace/import/pytorch_profiler/step_times.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "sim/base/limits.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/source.hpp"
#include "sim/base/statistics.hpp"

namespace ddpsim::pytorch_profiler {
namespace {

Seconds seconds(Time time) {
  return Seconds(static_cast<double>(time.count()) / 1e9);
}

Seconds duration(const MeasuredStep& step, Time start, Time end) {
  auto time = seconds(end - start);
  if (std::abs(time.value()) >= kLongestMeasurement.value())
    throw InputError(fmt::format("{} has times {} apart", step.step->name, format_seconds(time)),
                     "is the trace damaged?");
  return time;
}

// To the nanosecond, which is what was recorded.
Seconds rounded(double value) {
  return Seconds(std::round(value * 1e9) / 1e9);
}

Seconds of_all(const std::vector<double>& values, Statistic statistic) {
  return rounded(statistic == Statistic::mean ? mean(values) : median(values));
}

// A time that not every step needs to have.
std::optional<Seconds> of_those_with(const std::vector<StepTimes>& steps, Statistic statistic,
                                     std::optional<Seconds> StepTimes::*time) {
  std::vector<double> values;
  for (const auto& step : steps)
    if (step.*time) values.push_back((step.*time)->value());
  return values.empty() ? std::nullopt : std::optional(of_all(values, statistic));
}

bool same_messages(const StepTimes& a, const StepTimes& b) {
  return std::equal(
      a.collectives.begin(), a.collectives.end(), b.collectives.begin(), b.collectives.end(),
      [](const auto& x, const auto& y) { return x.elements == y.elements && x.dtype == y.dtype; });
}

Seconds median_of(const std::vector<StepTimes>& steps, std::size_t collective,
                  Seconds RecordedCollective::*time) {
  std::vector<double> values;
  for (const auto& step : steps) values.push_back((step.collectives[collective].*time).value());
  return rounded(median(values));
}

}  // namespace

StepTimes step_times(const MeasuredStep& measured, const ComputeStream& stream) {
  const auto& step = *measured.step;
  auto start = stream.event(step.backward.start);
  StepTimes times;
  if (step.forward_start) times.forward = duration(measured, stream.event(*step.forward_start), start);
  for (auto end : measured.forward_ends)
    times.forward_ends.push_back(duration(measured, stream.event(*step.forward_start), end));
  for (const auto& optimizer : step.optimizer) {
    // The stream waits for the all-reduces; with gradient_as_bucket_view no copy does so before it.
    auto begin = std::max(stream.event(optimizer.start), measured.all_reduces.end);
    auto end = std::max(stream.event(optimizer.end), begin);
    times.optimizer = times.optimizer.value_or(Seconds()) + duration(measured, begin, end);
  }
  for (auto ready : measured.ready) times.ready.push_back(duration(measured, start, ready));
  for (std::size_t k = 0; k < measured.all_reduces.list.size(); ++k) {
    const auto& all_reduce = measured.all_reduces.list[k];
    auto at = [&](Time moment) { return duration(measured, start, moment); };
    times.collectives.push_back({all_reduce.elements, all_reduce.dtype, at(measured.bucket_ready[k]),
                                 at(all_reduce.kernel.start), at(all_reduce.kernel.end),
                                 duration(measured, all_reduce.kernel.start, all_reduce.kernel.end)});
  }
  if (step.recorded && times.forward && times.optimizer) {
    times.whole = duration(measured, stream.event(step.recorded->start), stream.event(step.recorded->end));
    auto reduced = duration(measured, start, std::max(measured.ready.back(), measured.all_reduces.end));
    times.left_out = *times.whole - *times.forward - reduced - *times.optimizer;
  }
  times.gpu_busy = stream.busy_share({start, measured.ready.back()});
  return times;
}

LayerTrace summarize(const std::vector<StepTimes>& steps, const MeasuredSteps& measured,
                     Statistic statistic) {
  LayerTrace trace;
  trace.forward = of_those_with(steps, statistic, &StepTimes::forward);
  trace.optimizer = of_those_with(steps, statistic, &StepTimes::optimizer);
  const auto& sizes = measured.steps.front().sizes;
  bool has_forward_ends = std::all_of(steps.begin(), steps.end(), [&](const StepTimes& step) {
    return step.forward_ends.size() == sizes.size();
  });
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    std::vector<double> ready;
    for (const auto& step : steps) ready.push_back(step.ready[i].value());
    Gradient gradient;
    gradient.name = fmt::format("{}.{}", measured.rule == SizeRule::buckets ? "bucket" : "gradient", i);
    gradient.elements = sizes[i].elements;
    gradient.dtype = sizes[i].dtype;
    gradient.ready = of_all(ready, statistic);
    if (auto spread = standard_deviation(ready)) gradient.ready_spread = rounded(*spread);
    if (has_forward_ends) {
      std::vector<double> ends;
      for (const auto& step : steps) ends.push_back(step.forward_ends[i].value());
      gradient.forward_end = of_all(ends, statistic);
    }
    trace.gradients.push_back(std::move(gradient));
  }
  return trace;
}

std::vector<RecordedCollective> summarize_collectives(const std::vector<StepTimes>& steps) {
  for (const auto& step : steps)
    if (!same_messages(step, steps.front())) return {};
  std::vector<RecordedCollective> collectives;
  for (std::size_t k = 0; k < steps.front().collectives.size(); ++k) {
    auto collective = steps.front().collectives[k];
    for (auto time : {&RecordedCollective::ready, &RecordedCollective::start, &RecordedCollective::end,
                      &RecordedCollective::duration})
      collective.*time = median_of(steps, k, time);
    collectives.push_back(collective);
  }
  return collectives;
}

}  // namespace ddpsim::pytorch_profiler
