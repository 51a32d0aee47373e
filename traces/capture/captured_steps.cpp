#include "traces/capture/captured_steps.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "sim/base/check.hpp"
#include "sim/base/program_exit.hpp"
#include "sim/base/statistics.hpp"

namespace ddpsim {
namespace {

template <typename Time>
std::vector<double> over_steps(const std::vector<CapturedStep>& steps, Time time) {
  std::vector<double> values;
  for (const auto& step : steps) values.push_back(time(step).value());
  return values;
}

// No clock here is finer than a nanosecond.
Seconds rounded(double seconds) {
  return Seconds(std::round(seconds * 1e9) / 1e9);
}

Seconds median_of(const std::vector<double>& values) {
  return rounded(median(values));
}

std::optional<Seconds> deviation_of(const std::vector<double>& values) {
  auto deviation = standard_deviation(values);
  return deviation ? std::optional(rounded(*deviation)) : std::nullopt;
}

void check_arrival(const std::vector<CapturedParameter>& parameters, const std::vector<CapturedStep>& steps) {
  const auto& first = steps.front().arrival;
  for (const auto& step : steps) {
    std::vector<int> times(parameters.size());
    for (auto parameter : step.arrival) ++times[parameter];
    for (std::size_t i = 0; i < parameters.size(); ++i)
      if (times[i] != 1)
        throw RunFailed(fmt::format("the gradient of {} arrived {} times in one backward pass",
                                    parameters[i].name, times[i]));
    auto [one, other] = std::mismatch(first.begin(), first.end(), step.arrival.begin());
    if (one != first.end())
      throw RunFailed(
          fmt::format("gradients do not arrive in the same order in every step: {} in one, {} in another",
                      parameters[*one].name, parameters[*other].name));
  }
}

}  // namespace

LayerTrace trace_of_steps(const std::vector<CapturedParameter>& parameters,
                          const std::vector<CapturedStep>& steps) {
  DDPSIM_CHECK(!parameters.empty() && !steps.empty(), "a capture has gradients and steps");
  check_arrival(parameters, steps);
  LayerTrace trace;
  trace.forward = median_of(over_steps(steps, [](const auto& step) { return step.forward; }));
  trace.optimizer = median_of(over_steps(steps, [](const auto& step) { return step.optimizer; }));
  trace.registration_order.resize(parameters.size());
  for (auto parameter : steps.front().arrival) {
    const auto& [name, elements, dtype] = parameters[parameter];
    // The order is the same in all steps, so medians keep it.
    auto times = over_steps(steps, [&](const auto& step) { return step.ready[parameter]; });
    trace.registration_order[parameter] = trace.gradients.size();
    trace.gradients.push_back({name, elements, dtype, median_of(times), deviation_of(times)});
    if (steps.front().forward_ends.empty()) continue;
    // A module's pass ends before the forward pass does, in every step: so do their medians.
    auto forward_ends = over_steps(steps, [&](const auto& step) { return step.forward_ends[parameter]; });
    trace.gradients.back().forward_end = median_of(forward_ends);
  }
  return trace;
}

std::string write_steps(const std::vector<CapturedStep>& steps) {
  std::string text = "step,forward_s,backward_s,optimizer_s,compute_s\n";
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto& step = steps[i];
    Seconds backward = step.ready[step.arrival.back()];
    text += fmt::format("{}", i + 1);
    for (auto time : {step.forward, backward, step.optimizer, step.forward + backward + step.optimizer})
      text += fmt::format(",{}", rounded(time.value()).value());
    text += '\n';
  }
  return text;
}

double backward_spread(const std::vector<CapturedStep>& steps) {
  auto ends = over_steps(steps, [](const auto& step) { return step.ready[step.arrival.back()]; });
  return (quantile(ends, 0.75) - quantile(ends, 0.25)) / 2 / quantile(ends, 0.5);
}

}  // namespace ddpsim
