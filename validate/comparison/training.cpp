#include "validate/comparison/training.hpp"

#include <algorithm>
#include <utility>

#include "validate/comparison/replay.hpp"
#include <fmt/core.h>

#include "sim/base/check.hpp"
#include "sim/base/source.hpp"
#include "sim/model/transformer_modules.hpp"

namespace ddpsim::validate {
namespace {

Reduction::Kind kind_of(Reducer reducer) {
  switch (reducer) {
    case Reducer::naive:
      return Reduction::Kind::naive;
    case Reducer::flat:
      return Reduction::Kind::flat;
    case Reducer::overlap:
      return Reduction::Kind::overlap;
    case Reducer::ddp:
      break;
    default:
      DDPSIM_CHECK(false, "a sharded strategy is not run for real");
  }
  return Reduction::Kind::ddp;
}

// What the model has and what the trace has, in any order.
bool same_gradients(const LayerTrace& trace, const Transformer& model) {
  std::vector<std::int64_t> wanted, found;
  for (const auto& tensor : arrival_order(transformer_parts(model, *trace.metadata.sequence_length)))
    wanted.push_back(tensor.elements);
  for (const auto& gradient : trace.gradients)
    found.push_back(gradient.dtype == DType::float32 ? gradient.elements : 0);
  std::sort(wanted.begin(), wanted.end());
  std::sort(found.begin(), found.end());
  return wanted == found;
}

}  // namespace

TrainedModel trained_model(const Scenario& scenario) {
  if (scenario.strategy_plan)
    throw InputError(fmt::format("compute: model trains no {}", scenario.strategy->name()),
                     "use compute: replay, or strategy naive, flat, overlap or ddp");
  const auto& metadata = scenario.trace->metadata;
  if (!metadata.model || !metadata.batch_size || !metadata.sequence_length)
    throw InputError(
        "compute: model trains what the trace's header names, and it lacks the model, the batch size or the "
        "sequence length",
        "use a trace of 'ddpsim capture', or compute: replay");
  const auto* gpt2 = find_transformer(*metadata.model, gpt2_presets());
  if (!gpt2)
    throw InputError(fmt::format("compute: model trains a GPT-2, and the trace is of '{}'", *metadata.model),
                     "use compute: replay");
  if (!same_gradients(*scenario.trace, *gpt2))
    throw InputError(fmt::format("the trace's gradients are not those of {} in float32", *metadata.model),
                     "remove workload.scale_bytes, or use compute: replay");
  if (!scenario.ddp.bucket_caps.empty() || scenario.ddp.set_last_bucket_cap || scenario.ddp.static_graph)
    throw InputError(
        "compute: model trains with one bucket cap, and a first one",
        "remove ddp.bucket_caps, ddp.set_last_bucket_cap and ddp.static_graph, or use compute: replay");
  if (scenario.plan.reducer == Reducer::ddp && scenario.ddp.rule != BucketRule::torch)
    throw InputError("compute: model trains with PyTorch's buckets",
                     "write ddp.rule: torch, or use compute: replay");
  if (largest_slowdown(scenario.groups) > 1)
    throw InputError("a rank that trains for real cannot be made slower",
                     "remove workload.stragglers, or use compute: replay");
  return {gpt2->name, *metadata.batch_size, *metadata.sequence_length};
}

Step training_step(const Scenario& scenario, const std::string& name, const Sampling& sampling) {
  Step step = replay_step(scenario, name, sampling);
  auto ranges = std::exchange(step.ranges, {});
  step.program.ops.clear();
  for (const auto& range : ranges) step.add(Operation::all_reduce, range);
  step.before_last_backward.reset();
  step.reduction = Reduction{kind_of(scenario.plan.reducer), 0, 0, scenario.ddp.gradient_as_bucket_view,
                             scenario.plan.accumulation_steps};
  if (auto cap = scenario.plan.bucket_cap) {
    step.reduction->bucket_cap = static_cast<std::size_t>(cap->value());
    step.reduction->first_bucket_cap =
        static_cast<std::size_t>(scenario.plan.first_bucket_cap.value_or(*cap).value());
  }
  return step;
}

Step training_alone_step(const Sampling& sampling) {
  Step step{"training without communication", {}, {}, sampling, false};
  step.reduction = Reduction{Reduction::Kind::none, 0, 0, false, 1};
  return step;
}

}  // namespace ddpsim::validate
