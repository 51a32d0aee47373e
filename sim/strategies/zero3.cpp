#include "sim/strategies/zero3.hpp"

#include <algorithm>

#include "sim/program/step_builder.hpp"
#include "sim/strategies/families.hpp"

namespace ddpsim {
namespace {

constexpr std::size_t kReductionsInFlight = 3;  // stage3.py: no fourth one is launched

class Zero3Axis final : public DataAxis {
 public:
  Zero3Axis(const LayerTrace& trace, const Zero3Plan& plan, StepBuilder& step)
      : DataAxis(step),
        trace_(trace),
        plan_(plan),
        forward_wait_(wait_of(plan.forward, hooks_of(plan.forward), plan.forward_launches)),
        backward_wait_(wait_of(
            plan.backward,
            plan.hooks_of_backward * hooks_of(plan.backward) + plan.counting(trace, step.overheads().hooks),
            plan.backward_launches)) {}

  void forward(const Turn& turn) override {
    launched_.assign(plan_.schedule.gathers.size(), 0);
    std::size_t module = 0;
    for (const auto& pass : plan_.forward) {
      gathers(module++, turn, forward_wait_ * pass.duration);
      step_.compute(Activity::forward, turn.micro_batch, pass.duration);
    }
    if (turn.is_last) step_.start_last_backward();
  }
  void backward(const Turn& turn) override {
    std::vector<std::size_t> reductions;
    std::size_t bucket = 0, place = 0, module = plan_.forward.size();
    for (const auto& pass : plan_.backward) {
      // What was gathered to recompute is released before the gradients are computed.
      if (plan_.options.gathers_in_turn() && plan_.hooks_of_backward > 1) gathers(module, turn, {});
      gathers(module++, turn, turn.pace * backward_wait_ * pass.duration);
      step_.compute(Activity::backward, turn.micro_batch, turn.pace * pass.duration);
      // The gradient with which the next bucket begins is what has this one reduced.
      for (auto gradient : pass.arrived) {
        if (trace_.gradients[gradient].is_frozen) continue;
        if (place == plan_.buckets[bucket].end) reduce(turn, bucket++, reductions);
        if (turn.is_last && place + 1 == plan_.buckets[bucket].end) step_.set_ready(bucket);
        ++place;
      }
    }
    reduce(turn, bucket, reductions);
    for (auto one : reductions) step_.wait(one);
  }
  [[nodiscard]] Seconds optimizer() const override { return plan_.optimizer_time(trace_); }
  [[nodiscard]] bool steps_on_host() const override { return plan_.options.offload_optimizer; }
  void update() override {
    plan_.wait_for_hooks(trace_, step_);
    if (plan_.options.offload_optimizer && !plan_.options.offload_param)
      step_.fixed(Activity::host_copy, 0, plan_.host.copy(held(total_elements(trace_)) / plan_.ranks));
    if (plan_.schedule.persistent > 0) {
      auto index = plan_.schedule.gathers.size();
      step_.wait(gather(index, plan_.schedule.persistent));
      step_.compute(Activity::copy_out, index, {});
    }
  }

 private:
  [[nodiscard]] Seconds hooks_of(const std::vector<ModulePass>& modules) const {
    return static_cast<double>(modules.size()) * step_.overheads().hooks.module;
  }
  // Of what the modules compute. A host that waits for what it gathers is never ahead of it.
  [[nodiscard]] double wait_of(const std::vector<ModulePass>& modules, Seconds hooks,
                               Seconds launches) const {
    Seconds all;
    for (const auto& one : modules) all += one.duration;
    if (plan_.options.gathers_in_turn()) return all > Seconds() ? hooks / all : 0;
    return host_wait(hooks, launches, all);
  }
  void wait_for_host(const Turn& turn, Seconds time) {
    if (time > Seconds()) step_.fixed(Activity::host_wait, turn.micro_batch, time);
  }
  [[nodiscard]] Bytes held(std::int64_t elements) const {
    return BucketedPlan::bytes_of(elements, plan_.param_dtype);
  }
  // What a rank has of it may come from the host first.
  std::size_t gather(std::size_t index, std::int64_t elements) {
    std::vector<std::size_t> after;
    if (step_.last_compute()) after.push_back(*step_.last_compute());
    bool is_persistent = index == plan_.schedule.gathers.size();
    bool is_copied = plan_.options.offload_param && !is_persistent;
    return step_.collective(0, Activity::all_gather, Operation::all_gather, index, held(elements),
                            std::move(after),
                            is_copied ? plan_.host.copy(held(elements) / plan_.ranks) : Seconds());
  }

  // `host`: what the GPU waits for the hooks, beside what they gather, unless they wait for that themselves.
  void gathers(std::size_t module, const Turn& turn, Seconds host) {
    const auto& schedule = plan_.schedule;
    const auto& own = schedule.modules[module];
    for (auto one : {own.fetch, own.prefetch})
      if (one) launched_[*one] = gather(*one, schedule.gathers[*one]);
    if (!plan_.options.gathers_in_turn()) wait_for_host(turn, host);
    for (auto one : own.awaited) {
      step_.wait(launched_[one]);
      step_.pass(Activity::copy_out, one, step_.passes().out, 2 * held(schedule.gathers[one]));
    }
    if (plan_.options.gathers_in_turn()) wait_for_host(turn, host);
  }

  // `reductions`: that nobody waits for yet.
  void reduce(const Turn& turn, std::size_t bucket, std::vector<std::size_t>& reductions) {
    if (reductions.size() == kReductionsInFlight) {
      step_.wait(reductions.front());
      reductions.erase(reductions.begin());
      step_.compute(Activity::copy_in, bucket, {});
    }
    step_.pass(Activity::copy_in, bucket, step_.passes().in,
               held(plan_.buckets[bucket].elements) + plan_.reduced(bucket));
    auto op =
        step_.collective(0, Activity::reduce_scatter, Operation::reduce_scatter, bucket,
                         plan_.reduced(bucket), {*step_.last_compute()},
                         plan_.offload_time(plan_.buckets[bucket].elements, {turn.is_first, turn.is_last}));
    if (plan_.overlaps)
      reductions.push_back(op);
    else
      step_.wait(op);
  }

  const LayerTrace& trace_;
  const Zero3Plan& plan_;
  std::vector<std::size_t> launched_;            // by gather of this micro-batch: its op
  double forward_wait_ = 0, backward_wait_ = 0;  // of what a module computes
};

class Zero3Strategy final : public ZeroStrategy {
 public:
  Zero3Strategy()
      : ZeroStrategy({.name = "zero3",
                      .is_sharded = true,
                      .only_rings = true,
                      .shares_models = true,
                      .needs_several = true,
                      .shards_weights = true,
                      .is_usual = true,
                      .holds = StrategyTraits::Holds::gathered},
                     3) {}
  [[nodiscard]] std::shared_ptr<const StrategyPlan> plan(const PlanInput& input) const override {
    return std::make_shared<Zero3Plan>(input, options(input.choice));
  }
  [[nodiscard]] Hooks hooks() const override { return {kModuleHook, {}, kSharedParameterHook, kCount}; }
  [[nodiscard]] std::vector<std::string_view> keys_on_host() const override {
    return {"zero.offload_optimizer", "zero.offload_param"};
  }
  [[nodiscard]] std::vector<CommunicatorUse> communicators(const StrategyChoice&) const override {
    return {{.operations = {Operation::all_gather, Operation::reduce_scatter}}};
  }
};
const Zero3Strategy kZero3;

}  // namespace

StrategyFamily zero3_family() {
  return {{&kZero3}};
}

Zero3Plan::Zero3Plan(const PlanInput& input, const ZeroOptions& said) {
  set(input, said);
  const auto& trace = input.trace;
  overlaps = said.overlap_comm.value_or(true);
  if (said.gathers_in_turn()) options.prefetch_bucket_size = options.max_reuse_distance = 0;
  if (input.step && input.step->step.shape.recompute == Recompute::full) hooks_of_backward = 2;
  forward = forward_modules(trace);
  backward = backward_modules(trace);
  // The pass ends with the first module that has something to train.
  auto is_frozen = [&](std::size_t gradient) { return trace.gradients[gradient].is_frozen; };
  while (backward.size() > 1 && std::ranges::all_of(backward.back().arrived, is_frozen) &&
         backward.back().duration <= Seconds())
    backward.pop_back();
  auto modules = forward;
  modules.insert(modules.end(), backward.begin(), backward.end());
  schedule = schedule_gathers(trace, modules, options);
  std::vector<std::size_t> in_order;
  for (const auto& pass : backward) in_order.insert(in_order.end(), pass.arrived.begin(), pass.arrived.end());
  fill_buckets(trace, std::move(in_order), [&](std::span<const std::size_t> gradients, int) {
    return buckets_before_exceeding(trace, gradients, said.reduce_bucket_size);
  });
}

std::shared_ptr<const StrategyPlan> Zero3Plan::retimed(const LayerTrace& trace, const ModelStep* step) const {
  auto plan = std::make_shared<Zero3Plan>(*this);
  plan->take_launches(step);
  plan->forward = forward_modules(trace);
  plan->backward = backward_modules(trace);
  return plan;
}

std::unique_ptr<DataAxis> Zero3Plan::at_work(const LayerTrace& trace, StepBuilder& step) const {
  return std::make_unique<Zero3Axis>(trace, *this, step);
}

// What is gathered at once, what is never released, one bucket (stage3.py, ipg_bucket_flat_buffer) and its
// copy that is scattered.
HeldStates Zero3Plan::held(const HeldOf& of) const {
  double allocated = options.contiguous_gradients ? static_cast<double>(options.reduce_bucket_size) : 0;
  return {.sharding = Sharding::weights,
          .shards = ranks,
          .buckets = held_in(static_cast<double>(schedule.most_live + schedule.persistent) + allocated) +
                     largest_reduction(),
          .state = kept_state(of.step.step.optimizer, false)};
}

}  // namespace ddpsim
