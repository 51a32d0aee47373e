// What DeepSpeed's stages have in common.
#include <algorithm>

#include <fmt/format.h>

#include "sim/base/source.hpp"
#include "sim/program/step_builder.hpp"
#include "sim/strategies/offload.hpp"
#include "sim/strategies/zero.hpp"

namespace ddpsim {

std::string text_of(const DeepSpeedVersion& version) {
  return fmt::format("{}.{}.{}", version.major, version.minor, version.patch);
}

double trained_tensors(const LayerTrace& trace) {
  return static_cast<double>(
      std::ranges::count_if(trace.gradients, [](const auto& one) { return !one.is_frozen; }));
}

void ZeroStrategy::check_parts(const StrategyChoice& choice) const {
  const auto& said = options(choice.sections);
  if (said.offload_optimizer || said.offload_param) refuse_offload_of_parts("zero");
  if (stage == 3 && choice.expert_shards)
    throw InputError("DeepSpeed takes no experts that ranks share with zero3 (runtime/engine.py)",
                     "use zero2, or fsdp, or parallelism: {expert: 1}")
        .about("strategy");
}

void ZeroStrategy::check_stages(const StagesInput&) const {
  if (stage <= 1) return;
  throw InputError(fmt::format("DeepSpeed's pipelines take no {}: they keep whole gradients until the last "
                               "micro-batch (runtime/pipe/engine.py)",
                               name()),
                   "use zero1, or fsdp, or one stage")
      .about("strategy");
}

void ZeroPlanBase::set(const PlanInput& input, const ZeroOptions& said) {
  ranks = input.ranks;
  expert_ranks = input.choice.expert_shards;
  host = input.host;
  param_dtype = said.param_dtype.value_or(input.choice.computed);
  reduce_dtype = said.reduce_dtype.value_or(param_dtype);
  options = said;
  has_stages = input.part.stages > 1;
  take_launches(input.step);
}

// Of a recorded step nobody knows them, and the host of a stage has other work.
void ZeroPlanBase::take_launches(const ModelStep* known) {
  if (!known || has_stages) return;
  const auto& step = known->step;
  TransformerTimes times(known->model, known->gpu, known->software, step.precision, step.shape);
  forward_launches = backward_launches = {};
  for (std::int64_t layer = 0; layer < known->model.layers; ++layer) {
    auto block = times.block(known->model.kind_of(layer));
    forward_launches += block.forward.host;
    backward_launches += block.backward.host;
  }
  if (step.shape.recompute == Recompute::full) backward_launches += forward_launches;
}

Seconds ZeroPlanBase::optimizer_time(const LayerTrace& trace) const {
  if (!options.offload_optimizer) return trace.optimizer.value_or(Seconds()) / ranks_that_step(trace);
  return host.adam(static_cast<double>(total_elements(trace)) / ranks);
}

void ZeroPlanBase::wait_for_hooks(const LayerTrace& trace, StepBuilder& step) const {
  auto hooks = trained_tensors(trace) * step.overheads().hooks.parameter;
  if (!options.offload_optimizer) hooks -= optimizer_time(trace);  // which the host is ahead of
  if (hooks > Seconds()) step.fixed(Activity::host_wait, 0, hooks);
}

Seconds ZeroPlanBase::counting(const LayerTrace& trace, const Hooks& hooks) const {
  auto tensors = trained_tensors(trace);
  return options.counts_in_hooks() ? tensors * tensors * hooks.count : Seconds();
}

double host_wait(Seconds hooks, Seconds launches, Seconds computed) {
  if (hooks <= Seconds() || computed <= Seconds()) return 0;
  return std::max(0.0, (hooks + launches) / computed - 1);
}

Seconds ZeroPlanBase::offload_time(std::int64_t elements, const MicroBatch& of) const {
  if (!options.offload_optimizer) return {};
  auto slice = static_cast<double>(elements) / ranks;
  double kept = bytes_per_element(options.grad_accum_dtype.value_or(param_dtype));
  double bytes = of.is_last ? bytes_per_element(DType::float32) : 0;
  if (!of.is_only()) bytes += of.is_first ? kept : 2 * kept;
  return host.copy(Bytes(bytes * slice));
}

std::vector<Note> ZeroPlanBase::notes(const PlanInput& input) const {
  std::vector<Note> notes;
  if (options.offload_optimizer)
    notes.push_back(host_memory_note(host, input.trace, (options.offload_param ? 18.0 : 16.0) / ranks,
                                     (options.offload_param ? 2.0 : 0.0) / ranks));
  notes.push_back(dtypes_note(input.choice.strategy->name(), param_dtype, "DeepSpeed", "zero.reduce_dtype"));
  if (!options.version && input.choice.strategy->traits.is_sharded)
    notes.push_back(
        {"zero-version",
         fmt::format("DeepSpeed {} is presumed: releases differ (zero.version). Before {} stages 1 and 2 "
                     "reduced half the bytes, before {} stage 3 gathered nothing ahead",
                     text_of(options.presumed), text_of(kMultiRank), text_of(kCoalesced))});
  return notes;
}

std::vector<StrategyTrial> ZeroPlanBase::trials(const TrialsOf&) const {
  std::vector<std::pair<const char*, std::int64_t>> sizes{
      {"reduce_bucket_size", options.reduce_bucket_size / 10},
      {"reduce_bucket_size", options.reduce_bucket_size / 2}};
  std::ranges::copy(other_sizes(), std::back_inserter(sizes));
  std::vector<StrategyTrial> all;
  for (auto [key, size] : sizes)
    if (size >= 1)
      all.push_back({fmt::format("zero.{} {:g}", key, static_cast<double>(size)),
                     {fmt::format("zero.{}={}", key, size)}});
  if (options.offload_optimizer)
    all.push_back({"nothing on the host", {"zero.offload_optimizer=false", "zero.offload_param=false"}});
  return all;
}

StateBytes ZeroPlanBase::kept_state(const Optimizer& optimizer, bool keeps_gradients) const {
  auto state = mixed_precision_state(param_dtype, options.grad_accum_dtype.value_or(param_dtype), optimizer);
  if (options.offload_optimizer) state.optimizer = 0;
  if (options.offload_optimizer && !keeps_gradients) state.gradients = 0;
  if (options.offload_param) state.weights = 0;
  return state;
}

Bytes ZeroPlanBase::largest_reduction() const {
  std::int64_t largest = 0;
  for (const auto& bucket : buckets) largest = std::max(largest, bucket.elements);
  return bytes_of(largest, reduce_dtype);
}

}  // namespace ddpsim
