#include "sim/strategies/zero.hpp"

#include <algorithm>
#include <array>
#include <charconv>
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
// No stage shards without being asked for.
constexpr StrategyTraits kFlatTraits{
    .name = "zero0", .shares_models = true, .shares_stages = true, .holds = StrategyTraits::Holds::gathered};

// Of slices to their owners as many bytes go over each link as where they are scattered.
Operation reduction_of(const ZeroOptions& options) {
  return options.reduces_to_owners() ? Operation::reduce_scatter : Operation::all_reduce;
}

class Zero12Strategy final : public ZeroStrategy {
 public:
  Zero12Strategy(std::string_view its_name, int which) : ZeroStrategy(traits_of(its_name, which), which) {}

  [[nodiscard]] std::shared_ptr<const StrategyPlan> plan(const PlanInput& input) const override {
    auto said = options(input.choice);
    if (said.offload_param)
      throw InputError("only zero3 has parameters that can be offloaded", "remove it, or use strategy: zero3")
          .about("zero.offload_param");
    return std::make_shared<ZeroPlan>(input, stage, said);
  }
  [[nodiscard]] Hooks hooks() const override { return {{}, kGradientHook, kParameterHook, kCount}; }
  [[nodiscard]] std::vector<CommunicatorUse> communicators(const StrategyChoice& choice) const override {
    return with_experts(choice, {reduction_of(options(choice)), Operation::all_gather});
  }

 private:
  static StrategyTraits traits_of(std::string_view its_name, int which) {
    auto its = kTraits;
    its.name = its_name;
    its.needs_several = which > 1;
    its.shares_stages = which == 1;
    its.shares_experts = true;
    return its;
  }
};
const Zero12Strategy kZero1("zero1", 1), kZero2("zero2", 2);

class Zero0Strategy final : public ZeroStrategy {
 public:
  Zero0Strategy() : ZeroStrategy(kFlatTraits, 0) {}

  [[nodiscard]] std::shared_ptr<const StrategyPlan> plan(const PlanInput& input) const override {
    return std::make_shared<ZeroPlan>(input, stage, options(input.choice));
  }
  [[nodiscard]] std::vector<CommunicatorUse> communicators(const StrategyChoice& choice) const override {
    return with_experts(choice, {Operation::all_reduce});
  }
};
const Zero0Strategy kZero0;

const ZeroStrategy* zero_of(const Job& job) {
  return dynamic_cast<const ZeroStrategy*>(job.strategy.strategy);
}
bool is_stage(const Job& job, int stage) {
  return zero_of(job) && zero_of(job)->stage == stage;
}
const When kZero{[](const Job& job) { return zero_of(job) != nullptr; }, "strategies zero0 to zero3"};
const When kShards{[](const Job& job) { return !is_stage(job, 0); }, "strategies zero1, zero2 and zero3"};
const When kGathers{[](const Job& job) { return is_stage(job, 1) || is_stage(job, 2); },
                    "strategies zero1 and zero2"};
const When kOverlaps{
    [](const Job& job) { return !is_stage(job, 0) && (!is_stage(job, 1) || job.parallelism.pipeline == 1); },
    "one stage of strategies zero1, zero2 and zero3"};
const When kIsZero3{[](const Job& job) { return is_stage(job, 3); }, "strategy zero3"};
const When kAhead{
    [](const Job& job) { return is_stage(job, 3) && !ZeroStrategy::options(job.sections).gathers_in_turn(); },
    "strategy zero3 of DeepSpeed 0.6 and later"};

// "0.16.9", or "0.16" for 0.16.0.
std::optional<DeepSpeedVersion> parse_version(std::string_view text) {
  std::array<int, 3> parts{};
  const char *at = text.data(), *end = at + text.size();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    auto [next, error] = std::from_chars(at, end, parts.at(i));
    if (error != std::errc() || parts.at(i) < 0) return std::nullopt;
    if (next == end && i > 0) return DeepSpeedVersion{parts[0], parts[1], parts[2]};
    if (next == end || *next != '.') return std::nullopt;
    at = next + 1;
  }
  return std::nullopt;
}

Type<DeepSpeedVersion> deepspeed_version() {
  auto parse = [](const config::Value& value) {
    auto text = config::as_string(value);
    if (auto version = parse_version(text)) return *version;
    throw InputError(value.span, fmt::format("'{}' is no version of DeepSpeed", text),
                     "write it like 0.16.9");
  };
  return scalar_type<DeepSpeedVersion>(parse, text_of, shape_of(Dimension::release));
}

Type<ZeroOptions> zero_rows() {
  using O = ZeroOptions;
  return nested(
      Rows<O>("zero")
          .key<&O::version>("version", maybe(deepspeed_version()), "DeepSpeed's release")
          .usually("0.19.8, whose hooks were measured; of GPUs of Volta 0.3.16")
          .key<&O::reduce_bucket_size>("reduce_bucket_size", elements(0), "Elements")
          .deepspeed("zero_optimization.reduce_bucket_size")
          // A hundredth of DeepSpeed's 5e8 to twice as many.
          .tries_sizes({"5000000", "20000000", "100000000", "200000000", "1000000000"})
          .key<&O::allgather_bucket_size>("allgather_bucket_size", elements(1), "Elements")
          .when(kGathers)
          .deepspeed("zero_optimization.allgather_bucket_size")
          .key<&O::prefetch_bucket_size>("prefetch_bucket_size", elements(0), "Elements")
          .deepspeed("zero_optimization.stage3_prefetch_bucket_size")
          .when(kAhead)
          .key<&O::max_live_parameters>("max_live_parameters", elements(0), "Elements")
          .deepspeed("zero_optimization.stage3_max_live_parameters")
          .when(kAhead)
          .key<&O::max_reuse_distance>("max_reuse_distance", elements(0), "Elements")
          .deepspeed("zero_optimization.stage3_max_reuse_distance")
          .when(kAhead)
          .key<&O::param_persistence_threshold>("param_persistence_threshold", elements(0), "Elements")
          .deepspeed("zero_optimization.stage3_param_persistence_threshold")
          .when(kIsZero3)
          .key<&O::overlap_comm>("overlap_comm", maybe(boolean()), "As DeepSpeed")
          .when(kOverlaps)
          .usually("zero3: true, else false")
          .deepspeed("zero_optimization.overlap_comm")
          .tries({"true", "false"})
          .key<&O::contiguous_gradients>("contiguous_gradients", boolean(), "As DeepSpeed")
          .when(kShards)
          .deepspeed("zero_optimization.contiguous_gradients")
          .key<&O::param_dtype>("param_dtype", maybe(training_dtype()), "What is gathered")
          .usually("what is computed in")
          .key<&O::reduce_dtype>("reduce_dtype", maybe(training_dtype()), "What is reduced")
          .usually("param_dtype")
          .deepspeed("communication_data_type")
          .key<&O::grad_accum_dtype>("grad_accum_dtype", maybe(training_dtype()), "What is added up")
          .usually("param_dtype")
          .when(kShards)
          .deepspeed("data_types.grad_accum_dtype")
          .key<&O::offload_optimizer>("offload_optimizer", boolean(), "The optimizer on the host")
          .when(kShards)
          .key<&O::offload_param>("offload_param", boolean(), "Parameters on the host")
          .when(kShards)
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

// runtime/engine.py, allreduce_no_retain: reduced as the elements exceed the limit.
std::vector<ElementBucket> buckets_after_exceeding(const LayerTrace& trace,
                                                   std::span<const std::size_t> order, std::int64_t most) {
  std::vector<ElementBucket> buckets;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (buckets.empty() || buckets.back().elements > most) buckets.push_back({i, i, 0});
    buckets.back().end = i + 1;
    buckets.back().elements += trace.gradients[order[i]].elements;
  }
  return buckets;
}

// utils.py: pieces of the same size, as many whole allgather_bucket_size as there are; the last one has the
// rest. A rank's part is padded to two elements.
void add_gathers(std::int64_t elements, int ranks, bool of_experts, ZeroPlan& plan) {
  constexpr std::int64_t kAlignment = 2;
  auto size = plan.options.allgather_bucket_size;
  auto all = padded(elements, kAlignment * ranks);
  auto part = all / ranks, pieces = std::max<std::int64_t>(1, all / size);
  constexpr std::int64_t kMostPieces = 100'000;
  if (pieces > kMostPieces)
    throw InputError(fmt::format("{} elements in pieces of {} are {} all-gathers", all, size, pieces),
                     "DeepSpeed's own zero.allgather_bucket_size is 5e8 elements")
        .about("zero.allgather_bucket_size");
  auto piece = part / pieces;
  piece -= piece % kAlignment;
  for (std::int64_t i = 0; i < pieces; ++i) {
    auto gathered = (i + 1 < pieces ? piece : part - i * piece) * ranks;
    plan.gathers.push_back({BucketedPlan::bytes_of(gathered, plan.param_dtype), of_experts});
  }
}

class ZeroAxis final : public DataAxis {
 public:
  ZeroAxis(const LayerTrace& trace, const ZeroPlan& plan, StepBuilder& step)
      : DataAxis(step), trace_(trace), plan_(plan), bucket_of_(trace.gradients.size()) {
    for (std::size_t b = 0; b < plan.buckets.size(); ++b)
      for (auto gradient : plan.gradients(b)) bucket_of_[gradient] = b;
  }

  void forward(const Turn& turn) override {
    step_.compute(Activity::forward, turn.micro_batch, trace_.forward.value_or(Seconds()));
  }
  void backward(const Turn& turn) override {
    turn_ = turn;
    done_ = {};
    if (turn.is_last) step_.start_last_backward();
    bool reduces = turn.is_last || plan_.stage == 2;
    wait_ = reduces && !plan_.reduces_at_the_end()
                ? host_wait(hooks(), plan_.backward_launches, trace_.backward())
                : 0;
    if (!reduces || plan_.reduces_at_the_end())
      backward_until(trace_.backward());
    else
      reduce_on_the_way();
  }
  void finish() override {
    if (!plan_.reduces_at_the_end()) return;
    if (auto wait = host_wait(hooks(), plan_.backward_launches, trace_.backward()); wait > 0)
      step_.fixed(Activity::host_wait, turn_.micro_batch, wait * trace_.backward());
    for (std::size_t b = 0; b < plan_.buckets.size(); ++b) {
      step_.set_ready(b);
      for (auto gradient : plan_.gradients(b)) copy_in(b, gradient);
      reduce(b);
    }
  }
  [[nodiscard]] Seconds optimizer() const override {
    return plan_.stage == 0 ? trace_.optimizer.value_or(Seconds()) : plan_.optimizer_time(trace_);
  }
  [[nodiscard]] bool steps_on_host() const override { return plan_.options.offload_optimizer; }
  void update() override {
    if (plan_.stage == 0) return;
    plan_.wait_for_hooks(trace_, step_);
    if (plan_.options.offload_optimizer) {
      auto part = padded(total_elements(trace_), plan_.ranks) / plan_.ranks;
      step_.fixed(Activity::host_copy, 0, plan_.host.copy(BucketedPlan::bytes_of(part, DType::float32)));
    }
    for (std::size_t i = 0; i < plan_.gathers.size(); ++i) {
      auto [bytes, of_experts] = plan_.gathers[i];
      step_.wait_only_for(step_.collective(of_experts, Activity::all_gather, Operation::all_gather, i, bytes,
                                           step_.pending()));
    }
    step_.compute(Activity::copy_out, 0, {});
  }

 private:
  // A gradient with which the next bucket begins is what has the one before reduced.
  void reduce_on_the_way() {
    std::array<std::optional<std::size_t>, 2> open;  // bucket of common gradients, of experts
    for (std::size_t g = 0; g < trace_.gradients.size(); ++g) {
      if (trace_.gradients[g].is_frozen) continue;
      auto b = bucket_of_[g];
      const auto& bucket = plan_.buckets[b];
      if (auto& mine = open[bucket.of_experts]; mine != b) {
        if (mine) {
          backward_until(trace_.gradients[g].ready);
          reduce(*mine);
        }
        mine = b;
      }
      bool ends = plan_.gradients(b).back() == g;
      if (!ends && !(step_.passes().in > 0 && copies_into(b))) continue;
      backward_until(trace_.gradients[g].ready);
      if (turn_.is_last && ends) step_.set_ready(b);
      copy_in(b, g);
    }
    backward_until(trace_.backward());
    for (auto last : open)
      if (last) reduce(*last);
    if (reduction_) step_.wait(*std::exchange(reduction_, {}));  // independent_gradient_partition_epilogue
  }

  [[nodiscard]] Seconds hooks() const {
    const auto& hooks = step_.overheads().hooks;
    return trained_tensors(trace_) * hooks.gradient + plan_.counting(trace_, hooks);
  }

  void backward_until(Seconds time) {
    if (time > done_) {
      auto computed = turn_.pace * (time - done_);
      step_.compute(Activity::backward, turn_.micro_batch, computed);
      if (wait_ > 0) step_.fixed(Activity::host_wait, turn_.micro_batch, wait_ * computed);
    }
    done_ = std::max(done_, time);
  }

  // Not what is larger than a bucket.
  [[nodiscard]] bool copies_into(std::size_t bucket) const {
    return plan_.stage > 0 && plan_.options.contiguous_gradients &&
           plan_.buckets[bucket].elements <= plan_.options.reduce_bucket_size;
  }

  [[nodiscard]] Bytes held(std::int64_t elements) const {
    return BucketedPlan::bytes_of(elements, plan_.param_dtype);
  }

  void copy_in(std::size_t bucket, std::size_t gradient) {
    if (copies_into(bucket))
      step_.pass(Activity::copy_in, bucket, step_.passes().in, 2 * held(trace_.gradients[gradient].elements));
  }

  std::size_t reduction(std::size_t bucket, std::vector<std::size_t> after, Seconds longer) {
    auto operation = plan_.stage == 0 ? Operation::all_reduce : reduction_of(plan_.options);
    return step_.collective(
        plan_.buckets[bucket].of_experts,
        operation == Operation::all_reduce ? Activity::all_reduce : Activity::reduce_scatter, operation,
        bucket, plan_.reduced(bucket), std::move(after), longer);
  }
  void reduce(std::size_t bucket) {
    if (plan_.overlaps) {  // on one stream
      std::vector<std::size_t> after{*step_.last_compute()};
      if (reduction_) after.push_back(*reduction_);
      auto before = std::exchange(reduction_, reduction(bucket, std::move(after), offload(bucket)));
      if (before) step_.wait(*before);
      return;
    }
    // Read in the model's dtype, written and divided in that of the reduction.
    auto elements = plan_.buckets[bucket].elements;
    step_.pass(Activity::copy_in, bucket, step_.passes().in, held(elements) + 3 * plan_.reduced(bucket));
    step_.wait_only_for(reduction(bucket, step_.pending(), {}));
    bool keeps_all = plan_.stage == 0 || !plan_.options.contiguous_gradients;
    auto slice = keeps_all ? 1.0 : 1.0 / plan_.ranks_of(plan_.buckets[bucket]);
    step_.pass(Activity::copy_out, bucket, step_.passes().out,
               slice * (held(elements) + plan_.reduced(bucket)));
    if (plan_.options.offload_optimizer) step_.fixed(Activity::host_copy, bucket, offload(bucket));
  }

  [[nodiscard]] Seconds offload(std::size_t bucket) const {
    bool adds_up = plan_.stage == 2;
    return plan_.offload_time(plan_.buckets[bucket].elements, {turn_.is_first || !adds_up, turn_.is_last});
  }

  const LayerTrace& trace_;
  const ZeroPlan& plan_;
  std::vector<std::size_t> bucket_of_;    // by gradient
  std::optional<std::size_t> reduction_;  // that nobody waits for yet
  Turn turn_;
  Seconds done_;     // of this backward pass
  double wait_ = 0;  // for the host, of what it computes
};

}  // namespace

StrategyFamily zero_family() {
  return {{&kZero0, &kZero1, &kZero2}, [](Rows<Job>& to) {
            to.at<ZeroOptions>(
                  "zero", zero_rows(),
                  [](Job& job) -> ZeroOptions& { return job.sections.of<ZeroOptions>(); }, "DeepSpeed's ZeRO")
                .when(kZero);
          }};
}

// DeepSpeed 0.16.9's pipeline engine reduces after the last micro-batch, nothing overlapped (runtime/pipe/
// schedule.py: ReduceGrads); without a pipeline stage_1_and_2.py does.
ZeroPlan::ZeroPlan(const PlanInput& input, int which, const ZeroOptions& said) : stage(which) {
  set(input, said);
  const auto& trace = input.trace;
  if (stage == 0) options.offload_optimizer = options.offload_param = false;
  overlaps = stage > 0 && input.part.stages == 1 && said.overlap_comm.value_or(false);
  std::vector<std::size_t> in_order(trace.gradients.size());
  std::iota(in_order.begin(), in_order.end(), 0);
  if (reduces_at_the_end()) in_order = trace.registration_order;
  fill_buckets(trace, std::move(in_order), [&](std::span<const std::size_t> gradients, int) {
    return stage == 0 ? buckets_after_exceeding(trace, gradients, said.reduce_bucket_size)
                      : buckets_before_exceeding(trace, gradients, said.reduce_bucket_size);
  });
  if (stage == 0) return;
  for (bool of_experts : {false, true}) {
    std::int64_t elements = 0;
    for (const auto& bucket : buckets)
      if (bucket.of_experts == of_experts) elements += bucket.elements;
    if (elements > 0) add_gathers(elements, of_experts ? *expert_ranks : ranks, of_experts, *this);
  }
}

std::shared_ptr<const StrategyPlan> ZeroPlan::retimed(const LayerTrace&, const ModelStep* step) const {
  auto plan = std::make_shared<ZeroPlan>(*this);
  plan->take_launches(step);
  return plan;
}

std::unique_ptr<DataAxis> ZeroPlan::at_work(const LayerTrace& trace, StepBuilder& step) const {
  return std::make_unique<ZeroAxis>(trace, *this, step);
}

// Buckets are allocated whole, whatever they are filled with (stage_1_and_2.py, backward_prologue): two where
// one is filled while the other is reduced. Each is flattened once more to be reduced.
HeldStates ZeroPlan::held(const HeldOf& of) const {
  if (stage == 0)
    return {.sharding = Sharding::none,
            .buffers = largest_reduction(),
            .state = mixed_precision_state(param_dtype, param_dtype, of.step.step.optimizer)};
  auto size = static_cast<double>(options.reduce_bucket_size);
  double allocated = options.contiguous_gradients ? (overlaps ? 2 * size : size) : 0;
  return {.sharding = stage == 1 ? Sharding::optimizer : Sharding::gradients,
          .shards = ranks,
          .expert_shards = expert_ranks.value_or(1),
          .buffers = held_in(allocated) + largest_reduction(),
          .state = kept_state(of.step.step.optimizer, stage == 1)};
}

}  // namespace ddpsim
