#include "sim/strategies/megatron.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "sim/job/types.hpp"
#include "sim/keys/types.hpp"
#include "sim/program/step_builder.hpp"
#include "sim/strategies/families.hpp"

namespace ddpsim {
namespace {

using namespace keys;
using job::refuse, job::training_dtype;

DType reduced_in(const MegatronOptions& options, DType held) {
  return options.grad_reduce_in_fp32.value_or(held != DType::float16) ? DType::float32 : held;
}

constexpr std::int64_t kParameterAlignment = 64, kBucketAlignment = 128;

std::int64_t bucket_size_of(const MegatronOptions& options, int ranks) {
  constexpr std::int64_t kLeast = 40'000'000, kOfARank = 1'000'000;
  if (!options.overlap_grad_reduce) return std::numeric_limits<std::int64_t>::max();
  return options.bucket_size.value_or(std::max(kLeast, kOfARank * ranks));
}

// In the order of the buffer.
std::vector<ElementBucket> buckets_of(const LayerTrace& trace, const std::vector<std::size_t>& order,
                                      std::int64_t size, int ranks) {
  std::vector<ElementBucket> buckets;
  bool is_open = false;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (!is_open) buckets.push_back({i, i, 0});
    auto& bucket = buckets.back();
    bucket.end = i + 1;
    bucket.elements = padded(bucket.elements, kParameterAlignment) + trace.gradients[order[i]].elements;
    is_open = bucket.elements < size;
  }
  for (auto& bucket : buckets)
    bucket.elements = padded(bucket.elements, std::lcm<std::int64_t>(ranks, kBucketAlignment));
  return buckets;
}

class MegatronBuilder {
 public:
  MegatronBuilder(const LayerTrace& trace, const MegatronPlan& plan, const Overheads& overheads)
      : trace_(trace), plan_(plan), step_(plan.buckets.size(), overheads) {}

  StepProgram take(int accumulation_steps) {
    auto last = static_cast<std::size_t>(accumulation_steps) - 1;
    for (std::size_t i = 0; i <= last; ++i) {
      if (i == 0 && plan_.options.overlap_param_gather)
        first_forward();
      else
        step_.compute(Activity::forward, i, trace_.forward.value_or(Seconds()));
      if (i < last) step_.compute(Activity::backward, i, trace_.backward());
    }
    step_.start_last_backward();
    last_backward(last);
    step_.compute(Activity::optimizer, 0, trace_.optimizer.value_or(Seconds()) / plan_.ranks);
    if (!plan_.options.overlap_param_gather) gather_all();
    return step_.take();
  }

 private:
  std::size_t gather(std::size_t bucket) {
    return step_.collective(Activity::all_gather, Operation::all_gather, bucket,
                            BucketedPlan::bytes_of(plan_.buckets[bucket].elements, plan_.param_dtype));
  }

  void gather_all() {
    for (auto bucket = plan_.forward_order.rbegin(); bucket != plan_.forward_order.rend(); ++bucket)
      step_.wait(gather(*bucket));
    step_.compute(Activity::copy_out, 0, {});
  }

  void first_forward() {
    auto n = plan_.buckets.size();
    std::vector<std::size_t> place(n), bucket_of(trace_.gradients.size());
    for (std::size_t i = 0; i < n; ++i) {
      place[plan_.forward_order[i]] = i;
      for (auto gradient : plan_.gradients(i)) bucket_of[gradient] = i;
    }
    std::vector<std::optional<std::size_t>> gathers(n);
    std::vector<bool> is_there(n);
    auto dispatch = [&](std::size_t bucket) {
      if (!gathers[bucket]) gathers[bucket] = gather(bucket);
    };
    Seconds duration;  // of modules whose parameters are there
    auto compute = [&] {
      if (duration > Seconds()) step_.compute(Activity::forward, 0, std::exchange(duration, {}));
    };
    for (const auto& module : plan_.forward) {
      for (auto gradient : module.used) {
        auto bucket = bucket_of[gradient];
        if (is_there[bucket]) continue;
        is_there[bucket] = true;
        compute();
        dispatch(bucket);
        step_.wait(*gathers[bucket]);
        step_.compute(Activity::copy_out, bucket, {});
        if (auto next = place[bucket] + 1; next < n) dispatch(plan_.forward_order[next]);
      }
      duration += module.duration;
    }
    compute();
  }

  void last_backward(std::size_t micro_batch) {
    Seconds now;
    std::vector<std::size_t> reductions;
    for (std::size_t b = 0; b < plan_.buckets.size(); ++b) {
      auto ready = trace_.gradients[std::ranges::max(plan_.gradients(b))].ready;
      if (ready > now) step_.compute(Activity::backward, micro_batch, ready - now);
      now = std::max(now, ready);
      step_.set_ready(b);
      step_.pass(Activity::copy_in, b, step_.passes().in, 2 * plan_.reduced(b));
      reductions.push_back(
          step_.collective(Activity::reduce_scatter, Operation::reduce_scatter, b, plan_.reduced(b)));
    }
    for (auto one : reductions) step_.wait(one);
  }

  const LayerTrace& trace_;
  const MegatronPlan& plan_;
  StepBuilder step_;
};

Type<MegatronOptions> megatron_rows() {
  using O = MegatronOptions;
  return nested(Rows<O>("megatron")
                    .key<&O::bucket_size>(
                        "bucket_size",
                        word_or("auto", elements(1), "write auto, or a number of elements: 5e8"), "Elements")
                    // A quarter of Megatron's 40e6 (1e6 a rank, where those are more) to 64 times as many.
                    .tries_sizes({"10000000", "40000000", "160000000", "640000000", "2560000000"})
                    .key<&O::overlap_grad_reduce>("overlap_grad_reduce", boolean(), "As Megatron")
                    .key<&O::overlap_param_gather>("overlap_param_gather", boolean(), "As Megatron")
                    .key<&O::grad_reduce_in_fp32>("grad_reduce_in_fp32", maybe(boolean()), "As Megatron")
                    .usually("true, with fp16 parameters false")
                    .key<&O::param_dtype>("param_dtype", maybe(training_dtype()), "What is gathered")
                    .usually("what is computed in")
                    .check([](const O& megatron, const Cursor& at) {
                      if (megatron.overlap_param_gather && !megatron.overlap_grad_reduce)
                        refuse(at, "overlap_grad_reduce",
                               "Megatron gathers in the forward pass only where it also overlaps reductions",
                               "add overlap_param_gather: false");
                      if (megatron.bucket_size && !megatron.overlap_grad_reduce)
                        refuse(at, "bucket_size", "without overlap_grad_reduce all gradients are one bucket",
                               "remove bucket_size");
                    }));
}

class MegatronStrategy final : public Strategy {
 public:
  MegatronStrategy()
      : Strategy({.name = "megatron",
                  .is_sharded = true,
                  .only_rings = true,
                  .shares_models = true,
                  .shares_stages = true,
                  .shares_experts = true,
                  .is_usual = true,
                  .holds = StrategyTraits::Holds::gathered}) {}
  [[nodiscard]] std::shared_ptr<const StrategyPlan> plan(const PlanInput& input) const override {
    return std::make_shared<MegatronPlan>(input.trace, options(input.choice.sections), input.ranks,
                                          input.choice.computed);
  }
  [[nodiscard]] std::vector<CommunicatorUse> communicators(const StrategyChoice&) const override {
    return {{.operations = {Operation::all_gather, Operation::reduce_scatter}}};
  }
  [[nodiscard]] std::optional<DType> gathered(const Sections& said) const override {
    return options(said).param_dtype;
  }
  // Megatron Core 0.16.1: buckets in the first chunk of the first stage, all others are one
  // (distributed_data_parallel.py:64-102).
  [[nodiscard]] std::optional<StageAxis> of_stages(const StagesInput& input) const override {
    const auto& said = options(input.choice.sections);
    auto held = said.param_dtype.value_or(input.choice.computed);
    auto reduced = reduced_in(said, held);
    StageAxis axis;
    axis.reduction = Operation::reduce_scatter;
    axis.gradient_bytes = bytes_per_element(reduced);
    axis.parameter_bytes = bytes_per_element(held);
    axis.overlaps_reduction = said.overlap_grad_reduce;
    axis.gathers = true;
    axis.overlaps_gather = said.overlap_param_gather;
    if (said.overlap_grad_reduce)
      axis.bucket_elements = static_cast<double>(bucket_size_of(said, input.ranks));
    axis.only_first_has_buckets = true;
    axis.sharding = Sharding::optimizer;
    axis.state = mixed_precision_state(held, reduced, input.step.step.optimizer);
    return axis;
  }

 private:
  static const MegatronOptions& options(const Sections& said) { return said.of<MegatronOptions>(); }
};
const MegatronStrategy kMegatronStrategy;
const When kMegatron{[](const Job& job) { return job.strategy == &kMegatronStrategy; }, "strategy megatron"};

}  // namespace

StrategyFamily megatron_family() {
  return {{&kMegatronStrategy}, [](Rows<Job>& to) {
            to.at<MegatronOptions>(
                  "megatron", megatron_rows(),
                  [](Job& job) -> MegatronOptions& { return job.sections.of<MegatronOptions>(); },
                  "Megatron's distributed optimizer")
                .when(kMegatron);
          }};
}

MegatronPlan::MegatronPlan(const LayerTrace& trace, const MegatronOptions& said, int of_ranks, DType computed)
    : options(said) {
  ranks = of_ranks;
  param_dtype = said.param_dtype.value_or(computed);
  reduce_dtype = reduced_in(said, param_dtype);
  auto in_order = std::make_shared<std::vector<std::size_t>>(trace.registration_order.rbegin(),
                                                             trace.registration_order.rend());
  auto in_buffer = buckets_of(trace, *in_order, bucket_size_of(options, ranks), ranks);
  order = std::move(in_order);
  // Launched as they are complete.
  auto completing = [&](const ElementBucket& bucket) {
    auto begin = order->begin();
    return *std::max_element(begin + static_cast<std::ptrdiff_t>(bucket.begin),
                             begin + static_cast<std::ptrdiff_t>(bucket.end));
  };
  buckets = in_buffer;
  std::ranges::sort(buckets, {}, completing);
  forward_order.resize(buckets.size());
  std::iota(forward_order.begin(), forward_order.end(), 0);
  std::ranges::sort(forward_order, std::greater<>(),
                    [&](std::size_t bucket) { return buckets[bucket].begin; });
  forward = forward_modules(trace);
}

StepProgram MegatronPlan::program(const LayerTrace& trace, int accumulation_steps,
                                  const Overheads& overheads) const {
  return MegatronBuilder(trace, *this, overheads).take(accumulation_steps);
}

// Its buffers are the parameters and the gradients themselves, but for their padding.
HeldStates MegatronPlan::held(const HeldOf& of) const {
  std::int64_t elements = 0;
  for (const auto& bucket : buckets) elements += bucket.elements;
  auto padding = static_cast<double>(elements - total_elements(of.trace));
  return {.sharding = Sharding::optimizer,
          .shards = ranks,
          .buckets = Bytes(padding * (bytes_per_element(param_dtype) + bytes_per_element(reduce_dtype))),
          .state = mixed_precision_state(param_dtype, reduce_dtype, of.step.step.optimizer)};
}

std::vector<Note> MegatronPlan::notes(const PlanInput& input) const {
  return {
      dtypes_note(input.choice.strategy->name(), reduce_dtype, "Megatron", "megatron.grad_reduce_in_fp32")};
}

}  // namespace ddpsim
