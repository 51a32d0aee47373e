#include "sim/strategies/zero.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "sim/base/source.hpp"
#include "sim/job/types.hpp"
#include "sim/keys/types.hpp"
#include "sim/program/step_builder.hpp"
#include "sim/strategies/families.hpp"
#include "sim/strategies/offload.hpp"

namespace ddpsim {
namespace {

using namespace keys;
using job::refuse, job::training_dtype;

constexpr StrategyTraits kTraits{.name = {},
                                 .is_sharded = true,
                                 .shares_models = true,
                                 .is_usual = true,
                                 .holds = StrategyTraits::Holds::gathered};

class Zero12Strategy final : public ZeroStrategy {
 public:
  Zero12Strategy(std::string_view its_name, int which) : ZeroStrategy(traits_of(its_name, which), which) {}

  [[nodiscard]] std::shared_ptr<const StrategyPlan> plan(const PlanInput& input) const override {
    const auto& said = options(input.choice.sections);
    if (said.offload_param)
      throw InputError("only zero3 has parameters that can be offloaded", "remove it, or use strategy: zero3")
          .about("zero.offload_param");
    auto plan = std::make_shared<ZeroPlan>(input.trace, stage, said, input.ranks, input.choice.computed);
    plan->host = input.host;
    return plan;
  }
  [[nodiscard]] std::vector<CommunicatorUse> communicators(const StrategyChoice&) const override {
    return {{.operations = {Operation::all_reduce, Operation::all_gather}}};
  }

 private:
  static StrategyTraits traits_of(std::string_view its_name, int which) {
    auto its = kTraits;
    its.name = its_name;
    its.needs_several = its.lacks_host_time = which > 1;
    its.shares_stages = its.shares_experts = which == 1;
    return its;
  }
};
const Zero12Strategy kZero1("zero1", 1), kZero2("zero2", 2);

const ZeroStrategy* zero_of(const Job& job) {
  return dynamic_cast<const ZeroStrategy*>(job.strategy);
}
bool is_stage(const Job& job, int stage) {
  return zero_of(job) && zero_of(job)->stage == stage;
}
const When kZero{[](const Job& job) { return zero_of(job) != nullptr; }, "strategies zero1, zero2 and zero3"};
// DeepSpeed's pipelines reduce at the end, and what is gathered at once is not cut there.
const When kGathers{
    [](const Job& job) { return !is_stage(job, 3) && !(is_stage(job, 1) && !job.reduces_whole_parts()); },
    "strategies zero1, of one stage without shared experts, and zero2"};
const When kWhole{[](const Job& job) { return !is_stage(job, 1) || job.reduces_whole_parts(); },
                  "strategy zero1 of one stage without shared experts, zero2 and zero3"};
const When kOverlaps{[](const Job& job) { return !is_stage(job, 1) || job.parallelism.pipeline == 1; },
                     "one stage"};
const When kZero3{[](const Job& job) { return is_stage(job, 3); }, "strategy zero3"};

Type<ZeroOptions> zero_rows() {
  using O = ZeroOptions;
  return nested(
      Rows<O>("zero")
          .key<&O::reduce_bucket_size>("reduce_bucket_size", elements(1), "Elements")
          .deepspeed("zero_optimization.reduce_bucket_size")
          // A hundredth of DeepSpeed's 5e8 to twice as many.
          .tries_sizes({"5000000", "20000000", "100000000", "200000000", "1000000000"})
          .key<&O::allgather_bucket_size>("allgather_bucket_size", elements(1), "Elements")
          .when(kGathers)
          .deepspeed("zero_optimization.allgather_bucket_size")
          .key<&O::prefetch_bucket_size>("prefetch_bucket_size", elements(0), "Elements")
          .deepspeed("zero_optimization.stage3_prefetch_bucket_size")
          .when(kZero3)
          .key<&O::max_live_parameters>("max_live_parameters", elements(0), "Elements")
          .deepspeed("zero_optimization.stage3_max_live_parameters")
          .when(kZero3)
          .key<&O::max_reuse_distance>("max_reuse_distance", elements(0), "Elements")
          .deepspeed("zero_optimization.stage3_max_reuse_distance")
          .when(kZero3)
          .key<&O::param_persistence_threshold>("param_persistence_threshold", elements(0), "Elements")
          .deepspeed("zero_optimization.stage3_param_persistence_threshold")
          .when(kZero3)
          .key<&O::overlap_comm>("overlap_comm", maybe(boolean()), "As DeepSpeed")
          .when(kOverlaps)
          .usually("zero3: true, else false")
          .deepspeed("zero_optimization.overlap_comm")
          .tries({"true", "false"})
          .key<&O::contiguous_gradients>("contiguous_gradients", boolean(), "As DeepSpeed")
          .when(kWhole)
          .deepspeed("zero_optimization.contiguous_gradients")
          .key<&O::param_dtype>("param_dtype", maybe(training_dtype()), "What is gathered")
          .usually("what is computed in")
          .key<&O::reduce_dtype>("reduce_dtype", maybe(training_dtype()), "What is reduced")
          .usually("param_dtype")
          .deepspeed("communication_data_type")
          .key<&O::grad_accum_dtype>("grad_accum_dtype", maybe(training_dtype()), "What is added up")
          .usually("param_dtype")
          .deepspeed("data_types.grad_accum_dtype")
          .key<&O::offload_optimizer>("offload_optimizer", boolean(), "The optimizer on the host")
          .key<&O::offload_param>("offload_param", boolean(), "Parameters on the host")
          .check([](const O& zero, const Cursor& at) {
            if (zero.offload_param && !zero.offload_optimizer)
              refuse(at, "offload_param",
                     "parameters on the host and their optimizer on the GPU are not simulated",
                     "add offload_optimizer: true");
            if (zero.offload_optimizer && !zero.contiguous_gradients)
              refuse(at, "contiguous_gradients",
                     "with offload_optimizer DeepSpeed's gradients are contiguous", "remove it");
          }));
}

// utils.py: pieces of the same size, as many whole allgather_bucket_size as there are; the last one has the
// rest. A rank's part is padded to two elements.
std::vector<Bytes> gathers_of(const LayerTrace& trace, const ZeroOptions& options, int ranks, DType dtype) {
  constexpr std::int64_t kAlignment = 2;
  auto all = padded(total_elements(trace), kAlignment * ranks);
  auto part = all / ranks, pieces = std::max<std::int64_t>(1, all / options.allgather_bucket_size);
  constexpr std::int64_t kMostPieces = 100'000;
  if (pieces > kMostPieces)
    throw InputError(fmt::format("{} elements in pieces of {} are {} all-gathers", all,
                                 options.allgather_bucket_size, pieces),
                     "DeepSpeed's own zero.allgather_bucket_size is 5e8 elements")
        .about("zero.allgather_bucket_size");
  auto piece = part / pieces;
  piece -= piece % kAlignment;
  std::vector<Bytes> gathers;
  for (std::int64_t i = 0; i < pieces; ++i)
    gathers.push_back(BucketedPlan::bytes_of((i + 1 < pieces ? piece : part - i * piece) * ranks, dtype));
  return gathers;
}

class ZeroBuilder {
 public:
  ZeroBuilder(const LayerTrace& trace, const ZeroPlan& plan, const Overheads& overheads)
      : trace_(trace), plan_(plan), step_(plan.buckets.size(), overheads) {}

  StepProgram take(int accumulation_steps) {
    for (int i = 0; i < accumulation_steps; ++i) {
      index_ = static_cast<std::size_t>(i);
      is_last_ = i + 1 == accumulation_steps;
      is_first_ = i == 0;
      step_.compute(Activity::forward, index_, trace_.forward.value_or(Seconds()));
      if (is_last_) step_.start_last_backward();
      micro_batch();
    }
    auto steps = plan_.optimizer_time(trace_);
    if (!plan_.options.offload_optimizer) {
      step_.compute(Activity::optimizer, 0, steps);
    } else {
      step_.fixed(Activity::optimizer, 0, steps);
      auto part = padded(total_elements(trace_), plan_.ranks) / plan_.ranks;
      step_.fixed(Activity::host_copy, 0, plan_.host.copy(BucketedPlan::bytes_of(part, DType::float32)));
    }
    for (std::size_t i = 0; i < plan_.gathers.size(); ++i)
      step_.wait(step_.collective(Activity::all_gather, Operation::all_gather, i, plan_.gathers[i]));
    step_.compute(Activity::copy_out, 0, {});
    return step_.take();
  }

 private:
  void micro_batch() {
    bool reduces = is_last_ || plan_.stage == 2;
    if (!reduces || plan_.reduces_at_the_end()) {
      backward_until(trace_.backward());
      for (std::size_t b = 0; reduces && b < plan_.buckets.size(); ++b) {
        step_.set_ready(b);
        for (auto gradient : plan_.gradients(b)) copy_in(b, gradient);
        reduce(b);
      }
    } else {
      for (std::size_t b = 0; b < plan_.buckets.size(); ++b) {
        // The gradient with which the next bucket begins is what has this one reduced.
        if (b > 0) {
          backward_until(ready(plan_.buckets[b].begin));
          reduce(b - 1);
        }
        fill(b);
      }
      reduce(plan_.buckets.size() - 1);
    }
    if (reduction_) step_.wait(*std::exchange(reduction_, {}));  // independent_gradient_partition_epilogue
    done_ = {};
  }

  [[nodiscard]] Seconds ready(std::size_t place) const {
    return trace_.gradients[(*plan_.order)[place]].ready;
  }

  void backward_until(Seconds time) {
    if (time > done_) step_.compute(Activity::backward, index_, time - done_);
    done_ = std::max(done_, time);
  }

  // In the order of arrival.
  void fill(std::size_t bucket) {
    auto gradients = plan_.gradients(bucket);
    bool copies = step_.passes().in > 0 && copies_into(bucket);
    for (auto gradient : gradients) {
      if (!copies && gradient != gradients.back()) continue;
      backward_until(trace_.gradients[gradient].ready);
      if (is_last_ && gradient == gradients.back()) step_.set_ready(bucket);
      copy_in(bucket, gradient);
    }
  }

  // Not what is larger than a bucket.
  [[nodiscard]] bool copies_into(std::size_t bucket) const {
    return plan_.options.contiguous_gradients &&
           plan_.buckets[bucket].elements <= plan_.options.reduce_bucket_size;
  }

  [[nodiscard]] Bytes held(std::int64_t elements) const {
    return BucketedPlan::bytes_of(elements, plan_.param_dtype);
  }

  void copy_in(std::size_t bucket, std::size_t gradient) {
    if (copies_into(bucket))
      step_.pass(Activity::copy_in, bucket, step_.passes().in, 2 * held(trace_.gradients[gradient].elements));
  }

  void reduce(std::size_t bucket) {
    if (plan_.overlaps) {
      auto before = reduction_;
      reduction_ = step_.collective(0, Activity::all_reduce, Operation::all_reduce, bucket,
                                    plan_.reduced(bucket), {*step_.last_compute()}, offload(bucket));
      if (before) step_.wait(*before);
      return;
    }
    // Read in the model's dtype, written and divided in that of the reduction.
    auto elements = plan_.buckets[bucket].elements;
    step_.pass(Activity::copy_in, bucket, step_.passes().in, held(elements) + 3 * plan_.reduced(bucket));
    step_.wait(step_.collective(Activity::all_reduce, Operation::all_reduce, bucket, plan_.reduced(bucket)));
    auto slice = plan_.options.contiguous_gradients ? 1.0 / plan_.ranks : 1.0;
    step_.pass(Activity::copy_out, bucket, step_.passes().out,
               slice * (held(elements) + plan_.reduced(bucket)));
    if (plan_.options.offload_optimizer) step_.fixed(Activity::host_copy, bucket, offload(bucket));
  }

  [[nodiscard]] Seconds offload(std::size_t bucket) const {
    bool adds_up = plan_.stage == 2;
    return plan_.offload_time(plan_.buckets[bucket].elements, {is_first_ || !adds_up, is_last_});
  }

  const LayerTrace& trace_;
  const ZeroPlan& plan_;
  StepBuilder step_;
  std::optional<std::size_t> reduction_;  // that nobody waits for yet
  std::size_t index_ = 0;
  bool is_first_ = false, is_last_ = false;
  Seconds done_;  // of this backward pass
};

}  // namespace

StrategyFamily zero_family() {
  return {{&kZero1, &kZero2}, [](Rows<Job>& to) {
            to.at<ZeroOptions>(
                  "zero", zero_rows(),
                  [](Job& job) -> ZeroOptions& { return job.sections.of<ZeroOptions>(); }, "DeepSpeed's ZeRO")
                .when(kZero);
          }};
}

void ZeroStrategy::check_parts(const StrategyChoice& choice) const {
  const auto& said = options(choice.sections);
  if (said.offload_optimizer || said.offload_param) refuse_offload_of_parts("zero");
}

// DeepSpeed 0.16.9's pipeline engine reduces after the last micro-batch, nothing overlapped (runtime/pipe/
// schedule.py: ReduceGrads); without a pipeline stage_1_and_2.py does.
std::optional<StageAxis> ZeroStrategy::of_stages(const StagesInput& input) const {
  if (stage > 1)
    throw InputError(fmt::format("DeepSpeed's pipelines take no {}: they keep whole gradients until the last "
                                 "micro-batch (runtime/pipe/engine.py)",
                                 name()),
                     "use zero1, or fsdp, or one stage")
        .about("strategy");
  const auto& said = options(input.choice.sections);
  auto held = said.param_dtype.value_or(input.choice.computed);
  StageAxis axis;
  axis.gradient_bytes = bytes_per_element(said.reduce_dtype.value_or(held));
  axis.parameter_bytes = bytes_per_element(held);
  axis.overlaps_reduction = input.pipeline == 1 && said.overlap_comm.value_or(false);
  axis.gathers = true;
  axis.bucket_elements = static_cast<double>(said.reduce_bucket_size);
  axis.closes_before = true;
  axis.sharding = Sharding::optimizer;
  axis.state = mixed_precision_state(held, said.grad_accum_dtype.value_or(held), input.step.step.optimizer);
  return axis;
}

void ZeroPlanBase::set(const ZeroOptions& said, int of_ranks, DType computed) {
  ranks = of_ranks;
  param_dtype = said.param_dtype.value_or(computed);
  reduce_dtype = said.reduce_dtype.value_or(param_dtype);
  options = said;
}

Seconds ZeroPlanBase::optimizer_time(const LayerTrace& trace) const {
  if (!options.offload_optimizer) return trace.optimizer.value_or(Seconds()) / ranks;
  return host.adam(static_cast<double>(total_elements(trace)) / ranks);
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
    notes.push_back(host_memory_note(host, input.trace, (options.offload_param ? 18.0 : 16.0) / ranks));
  notes.push_back(dtypes_note(input.choice.strategy->name(), param_dtype, "DeepSpeed", "zero.reduce_dtype"));
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

ZeroPlan::ZeroPlan(const LayerTrace& trace, int which, const ZeroOptions& said, int of_ranks, DType computed)
    : stage(which) {
  set(said, of_ranks, computed);
  overlaps = said.overlap_comm.value_or(false);
  auto in_order = std::make_shared<std::vector<std::size_t>>(trace.gradients.size());
  std::iota(in_order->begin(), in_order->end(), 0);
  if (reduces_at_the_end()) *in_order = trace.registration_order;
  buckets = buckets_before_exceeding(trace, *in_order, said.reduce_bucket_size);
  order = std::move(in_order);
  gathers = gathers_of(trace, said, of_ranks, param_dtype);
}

StepProgram ZeroPlan::program(const LayerTrace& trace, int accumulation_steps,
                              const Overheads& overheads) const {
  return ZeroBuilder(trace, *this, overheads).take(accumulation_steps);
}

// Buckets are allocated whole, whatever they are filled with (stage_1_and_2.py, backward_prologue): two where
// one is filled while the other is reduced. Each is flattened once more to be reduced.
HeldStates ZeroPlan::held(const HeldOf& of) const {
  auto size = static_cast<double>(options.reduce_bucket_size);
  double allocated = options.contiguous_gradients ? (overlaps ? 2 * size : size) : 0;
  return {.sharding = stage == 1 ? Sharding::optimizer : Sharding::gradients,
          .shards = ranks,
          .buckets = held_in(allocated) + largest_reduction(),
          .state = kept_state(of.step.step.optimizer, stage == 1)};
}

}  // namespace ddpsim
