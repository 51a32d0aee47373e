#include "sim/study/scenario_metrics.hpp"

#include <map>
#include <tuple>

namespace ddpsim {
namespace {

CollectiveChoice nccl_choice(const Scenario& scenario, std::size_t group, Operation operation, Bytes bytes) {
  const auto& model = *scenario.communication->nccl[group];
  auto choice = model.choose(bytes, operation);
  return {nccl::name(choice.candidate->algorithm), nccl::name(choice.candidate->protocol), choice.channels,
          model.cost(operation).source_of(*choice.candidate, bytes)};
}

}  // namespace

IterationContext context_of(const Scenario& scenario) {
  IterationContext context{*scenario.trace,
                           scenario.plan,
                           scenario.world_size,
                           scenario.algorithm(),
                           std::string(fidelity_name(scenario.fidelity)),
                           scenario.collective_workers,
                           scenario.is_asynchronous()};
  if (const auto* communication = scenario.communication.get();
      communication && communication->axes.size() > 1)
    for (const auto& axis : communication->axes)
      context.communicators.push_back(
          {axis.name, static_cast<int>(communication->groups[axis.first].size())});
  if (scenario.communication && !scenario.communication->nccl.empty())
    context.choice = [&scenario,
                      known = std::map<std::tuple<std::size_t, Operation, Bytes>, CollectiveChoice>()](
                         std::size_t group, Operation operation, Bytes bytes) mutable {
      auto [it, is_new] = known.try_emplace({group, operation, bytes});
      if (is_new) it->second = nccl_choice(scenario, group, operation, bytes);
      return it->second;
    };
  return context;
}

IterationMetrics metrics_of(const Scenario& scenario, const Prediction& prediction) {
  auto metrics = measure(prediction.timeline, context_of(scenario));
  metrics.network = scenario.network_name();
  metrics.simulated_flows = prediction.simulated_flows;
  metrics.price = scenario.price;
  if (const auto& step = scenario.model_step) {
    double rate = scenario.plan.accumulation_steps / metrics.iteration.value();
    const auto& work = step->work;
    metrics.compute = {FlopsPerSecond(work.model.value() * rate),
                       FlopsPerSecond((work.model + work.recomputed).value() * rate), work.peak};
    metrics.memory = {*scenario.memory(), step->gpu.memory, step->gpu.name, scenario.memory_of_others()};
  }
  if (scenario.sampled)
    metrics.spread = spread_of(prediction.iterations, prediction.unvaried, *scenario.sampled);
  return metrics;
}

}  // namespace ddpsim
