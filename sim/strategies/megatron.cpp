#include "sim/strategies/megatron.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "sim/job/types.hpp"
#include "sim/keys/types.hpp"
#include "sim/program/module_passes.hpp"
#include "sim/program/step_builder.hpp"
#include "sim/strategies/families.hpp"

namespace ddpsim {
namespace {

using namespace keys;
using job::refuse, job::training_dtype;

DType reduced_type(const MegatronOptions& options, DType held) {
  return options.grad_reduce_in_fp32.value_or(held != DType::float16) ? DType::float32 : held;
}

constexpr std::int64_t kParameterAlignment = 64, kBucketAlignment = 128;
constexpr auto kAllInOne = std::numeric_limits<std::int64_t>::max();

std::int64_t bucket_size_of(const MegatronOptions& options, int ranks) {
  constexpr std::int64_t kLeast = 40'000'000, kOfARank = 1'000'000;
  if (!options.overlap_grad_reduce) return kAllInOne;
  return options.bucket_size.value_or(std::max(kLeast, kOfARank * ranks));
}

// Of gradients in the order of the buffer. Of stages the matrix that the ends have both is a bucket of its
// own (param_and_grad_buffer.py, _does_param_require_new_bucket).
std::vector<ElementBucket> buckets_of(const LayerTrace& trace, std::span<const std::size_t> order,
                                      std::int64_t size, int ranks, std::optional<std::size_t> tied) {
  std::vector<ElementBucket> buckets;
  bool is_open = false;
  for (std::size_t i = 0; i < order.size(); ++i) {
    bool is_tied = order[i] == tied;
    if (!is_open || is_tied) buckets.push_back({i, i, 0});
    auto& bucket = buckets.back();
    bucket.end = i + 1;
    bucket.elements = padded(bucket.elements, kParameterAlignment) + trace.gradients[order[i]].elements;
    is_open = bucket.elements < size && !is_tied;
  }
  for (auto& bucket : buckets)
    bucket.elements = padded(bucket.elements, std::lcm<std::int64_t>(ranks, kBucketAlignment));
  return buckets;
}

class MegatronAxis final : public DataAxis {
 public:
  MegatronAxis(const LayerTrace& trace, const MegatronPlan& plan, StepBuilder& step)
      : DataAxis(step), trace_(trace), plan_(plan), gathers_(plan.buckets.size()) {
    if (plan.options.gathers_in_forward()) forward_ = forward_modules(trace);
  }

  void begin() override {
    if (plan_.options.gathers_in_forward() && plan_.gathers_at_once)
      for (auto bucket : plan_.forward_order) dispatch(bucket);
  }
  void forward(const Turn& turn) override {
    if (turn.is_first && plan_.options.gathers_in_forward()) return first_forward();
    step_.compute(Activity::forward, turn.micro_batch, trace_.forward.value_or(Seconds()));
  }
  void backward(const Turn& turn) override {
    if (!turn.is_last)
      step_.compute(Activity::backward, turn.micro_batch, turn.pace * trace_.backward());
    else
      last_backward(turn);
  }
  // `align_grad_reduce`, Megatron's default (training/arguments.py).
  [[nodiscard]] bool reduces_together() const override { return plan_.options.overlap_grad_reduce; }
  void reduce_now() override {
    for (auto b = reductions_.size(); b < plan_.buckets.size(); ++b) reduce(b);
  }
  void finish() override {
    reduce_now();
    for (auto one : reductions_) step_.wait(one);
  }
  [[nodiscard]] Seconds optimizer() const override {
    double ranks = plan_.options.distributed_optimizer ? plan_.ranks_that_step(trace_) : 1;
    return trace_.optimizer.value_or(Seconds()) / ranks;
  }
  void update() override {
    if (plan_.options.gathers_in_forward() || !plan_.options.distributed_optimizer) return;
    for (auto bucket : plan_.forward_order) step_.wait(gather(bucket, {*step_.last_compute()}));
    step_.compute(Activity::copy_out, 0, {});
  }

 private:
  std::size_t gather(std::size_t b, std::vector<std::size_t> after) {
    const auto& bucket = plan_.buckets[b];
    return step_.collective(bucket.of_experts, Activity::all_gather, Operation::all_gather, b,
                            BucketedPlan::bytes_of(bucket.elements, plan_.param_dtype), std::move(after));
  }
  void dispatch(std::size_t bucket) {
    if (!gathers_[bucket]) gathers_[bucket] = gather(bucket, step_.pending());
  }

  void first_forward() {
    auto n = plan_.buckets.size();
    std::vector<std::size_t> bucket_of(trace_.gradients.size());
    std::vector<std::optional<std::size_t>> next(n);  // of the same buffer
    for (std::size_t i = 0; i < n; ++i) {
      auto bucket = plan_.forward_order[i];
      if (i + 1 < n &&
          plan_.buckets[plan_.forward_order[i + 1]].of_experts == plan_.buckets[bucket].of_experts)
        next[bucket] = plan_.forward_order[i + 1];
      for (auto gradient : plan_.gradients(i)) bucket_of[gradient] = i;
    }
    std::vector<bool> is_there(n);
    Seconds duration;  // of modules whose parameters are there
    auto compute = [&] {
      if (duration > Seconds()) step_.compute(Activity::forward, 0, std::exchange(duration, {}));
    };
    for (const auto& module : forward_) {
      for (auto gradient : module.used) {
        auto bucket = bucket_of[gradient];
        if (trace_.gradients[gradient].is_frozen || is_there[bucket]) continue;
        is_there[bucket] = true;
        compute();
        dispatch(bucket);
        step_.wait(*gathers_[bucket]);
        step_.compute(Activity::copy_out, bucket, {});
        if (next[bucket]) dispatch(*next[bucket]);
      }
      duration += module.duration;
    }
    compute();
  }

  void last_backward(const Turn& turn) {
    step_.start_last_backward();
    Seconds now;
    auto compute_until = [&](Seconds time) {
      if (time > now) step_.compute(Activity::backward, turn.micro_batch, turn.pace * (time - now));
      now = std::max(now, time);
    };
    for (std::size_t b = 0; b < plan_.buckets.size(); ++b) {
      compute_until(trace_.gradients[std::ranges::max(plan_.gradients(b))].ready);
      step_.set_ready(b);
      if (plan_.options.overlap_grad_reduce && turn.may_reduce) reduce(b);
    }
    compute_until(trace_.backward());
  }
  void reduce(std::size_t b) {
    step_.pass(Activity::copy_in, b, step_.passes().in, 2 * plan_.reduced(b));
    bool scatters = plan_.options.distributed_optimizer;
    reductions_.push_back(step_.collective(plan_.buckets[b].of_experts,
                                           scatters ? Activity::reduce_scatter : Activity::all_reduce,
                                           scatters ? Operation::reduce_scatter : Operation::all_reduce, b,
                                           plan_.reduced(b), {*step_.last_compute()}));
  }

  const LayerTrace& trace_;
  const MegatronPlan& plan_;
  std::vector<ModulePass> forward_;
  std::vector<std::optional<std::size_t>> gathers_;  // of the first forward pass, by bucket
  std::vector<std::size_t> reductions_;
};

Type<MegatronOptions> megatron_rows() {
  using O = MegatronOptions;
  return nested(Rows<O>("megatron")
                    .key<&O::bucket_size>(
                        "bucket_size",
                        word_or("auto", elements(1), "write auto, or a number of elements: 5e8"), "Elements")
                    .also({"ddp_bucket_size"})
                    // A quarter of Megatron's 40e6 (1e6 a rank, where those are more) to 64 times as many.
                    .tries_sizes({"10000000", "40000000", "160000000", "640000000", "2560000000"})
                    .key<&O::distributed_optimizer>("distributed_optimizer", boolean(),
                                                    "Ranks step a part of the parameters each")
                    .also({"use_distributed_optimizer"})
                    .key<&O::overlap_grad_reduce>("overlap_grad_reduce", boolean(), "As Megatron")
                    .key<&O::overlap_param_gather>("overlap_param_gather", boolean(), "As Megatron")
                    .key<&O::grad_reduce_in_fp32>("grad_reduce_in_fp32", maybe(boolean()), "As Megatron")
                    .also({"accumulate_allreduce_grads_in_fp32"})
                    .usually("true, with fp16 parameters false")
                    .key<&O::param_dtype>("param_dtype", maybe(training_dtype()), "What is gathered")
                    .usually("what is computed in")
                    .check([](const O& megatron, const Cursor& at) {
                      if (megatron.gathers_in_forward() && !megatron.overlap_grad_reduce)
                        refuse(at, "overlap_grad_reduce",
                               "Megatron gathers in the forward pass only where it also overlaps reductions",
                               "add overlap_param_gather: false");
                      if (!megatron.distributed_optimizer && at.has("overlap_param_gather"))
                        refuse(at, "overlap_param_gather",
                               "without the distributed optimizer nothing is gathered",
                               "remove overlap_param_gather");
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
    return std::make_shared<MegatronPlan>(input, options(input.choice.sections));
  }
  [[nodiscard]] std::vector<CommunicatorUse> communicators(const StrategyChoice& choice) const override {
    if (!options(choice.sections).distributed_optimizer) return with_experts(choice, {Operation::all_reduce});
    return with_experts(choice, {Operation::all_gather, Operation::reduce_scatter});
  }
  [[nodiscard]] std::optional<DType> gathered(const Sections& said) const override {
    return options(said).param_dtype;
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
                  "Megatron's data parallelism")
                .when(kMegatron);
          }};
}

// Of stages Megatron Core 0.16.1 has buckets in the first chunk of the first one, of all others one each
// (distributed_data_parallel.py, pp_rank > 0; training.py, model_chunk_idx > 0).
MegatronPlan::MegatronPlan(const PlanInput& input, const MegatronOptions& said) : options(said) {
  const auto& trace = input.trace;
  ranks = input.ranks;
  expert_ranks = input.choice.expert_shards;
  param_dtype = said.param_dtype.value_or(input.choice.computed);
  reduce_dtype = reduced_type(said, param_dtype);
  gathers_at_once = input.part.chunks > 1;
  auto size = input.part.is_first ? bucket_size_of(options, ranks) : kAllInOne;
  fill_buckets(trace, {trace.registration_order.rbegin(), trace.registration_order.rend()},
               [&](std::span<const std::size_t> in_buffer, int of) {
                 return buckets_of(trace, in_buffer, size, of, input.part.tied);
               });
  // Launched as they are complete.
  auto completing = [&](const ElementBucket& bucket) {
    auto begin = order->begin();
    return *std::max_element(begin + static_cast<std::ptrdiff_t>(bucket.begin),
                             begin + static_cast<std::ptrdiff_t>(bucket.end));
  };
  std::ranges::sort(buckets, {}, completing);
  forward_order.resize(buckets.size());
  std::iota(forward_order.begin(), forward_order.end(), 0);
  std::ranges::sort(forward_order, std::greater<>(), [&](std::size_t bucket) {
    return std::pair(!buckets[bucket].of_experts, buckets[bucket].begin);
  });
}

std::unique_ptr<DataAxis> MegatronPlan::at_work(const LayerTrace& trace, StepBuilder& step) const {
  return std::make_unique<MegatronAxis>(trace, *this, step);
}

// Its buffers are the parameters and the gradients themselves, but for their padding.
HeldStates MegatronPlan::held(const HeldOf& of) const {
  std::int64_t elements = 0;
  for (const auto& bucket : buckets) elements += bucket.elements;
  auto padding = static_cast<double>(elements - total_elements(of.trace));
  return {.sharding = options.distributed_optimizer ? Sharding::optimizer : Sharding::none,
          .shards = ranks,
          .expert_shards = expert_ranks.value_or(1),
          .buckets = Bytes(padding * (bytes_per_element(param_dtype) + bytes_per_element(reduce_dtype))),
          .state = mixed_precision_state(param_dtype, reduce_dtype, of.step.step.optimizer)};
}

std::vector<Note> MegatronPlan::notes(const PlanInput& input) const {
  return {
      dtypes_note(input.choice.strategy->name(), reduce_dtype, "Megatron", "megatron.grad_reduce_in_fp32")};
}

}  // namespace ddpsim
