#include "sim/study/plan_bound.hpp"

#include <algorithm>
#include <limits>

#include "sim/study/scenario_metrics.hpp"

namespace ddpsim {

double least_slowdown(const Scenario& scenario) {
  if (scenario.sampled) return kLeastSlowdown;
  double least = std::numeric_limits<double>::infinity();
  for (const auto& group : groups_with_spread(scenario))
    for (const auto& ranks : group.rank_classes) least = std::min(least, ranks.slowdown);
  return least;
}

Seconds bound_of(const Scenario& scenario) {
  if (!scenario.parallel) {
    const auto& trace = *scenario.trace;
    return scenario.plan.accumulation_steps * (trace.forward.value_or(Seconds()) + trace.backward());
  }
  const auto& plan = scenario.parallel->plan;
  bool is_in_turn = plan.shape.schedule == PipelineSchedule::one_f_one_b ||
                    plan.shape.schedule == PipelineSchedule::interleaved;
  Seconds before, least;
  for (const auto& of_rank : plan.times) {
    Seconds sum;
    auto whole = [](const auto& chunk) {
      return chunk.forward + chunk.recompute + chunk.input_gradient + chunk.weight_gradient;
    };
    for (const auto& chunk : of_rank) sum += whole(chunk);
    // DualPipe's micro-batches go half in each direction.
    double passes = plan.shape.micro_batches / (plan.shape.is_dual() ? 2.0 : 1.0);
    least = std::max(least, passes * sum + (is_in_turn ? before : Seconds()));
    before += whole(of_rank.front());
  }
  return least;
}

}  // namespace ddpsim
