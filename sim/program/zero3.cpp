#include "sim/program/zero3.hpp"

#include "sim/program/step_builder.hpp"

namespace ddpsim {
namespace {

constexpr std::size_t kReductionsInFlight = 3;  // stage3.py: no fourth one is launched

class Zero3Builder {
 public:
  Zero3Builder(const LayerTrace& trace, const Zero3Plan& plan, const Overheads& overheads)
      : trace_(trace), plan_(plan), step_(plan.buckets.size(), overheads) {}

  StepProgram take(int accumulation_steps) {
    for (int i = 0; i < accumulation_steps; ++i) {
      index_ = static_cast<std::size_t>(i);
      is_last_ = i + 1 == accumulation_steps;
      launched_.assign(plan_.schedule.gathers.size(), 0);
      std::size_t module = 0;
      for (const auto& pass : plan_.forward) {
        gathers(module++);
        step_.compute(Activity::forward, index_, pass.duration);
      }
      if (is_last_) step_.start_last_backward();
      backward(module);
    }
    auto steps = optimizer_time(trace_, plan_, plan_.options);
    if (plan_.options.offload_optimizer)
      step_.fixed(Activity::optimizer, 0, steps);
    else
      step_.compute(Activity::optimizer, 0, steps);
    if (plan_.options.offload_optimizer && !plan_.options.offload_param)
      step_.fixed(Activity::host_copy, 0, plan_.host.copy(held(total_elements(trace_)) / plan_.ranks));
    if (plan_.schedule.persistent > 0) {
      auto index = plan_.schedule.gathers.size();
      step_.wait(gather(index, plan_.schedule.persistent));
      step_.compute(Activity::copy_out, index, {});
    }
    return step_.take();
  }

 private:
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

  void gathers(std::size_t module) {
    const auto& schedule = plan_.schedule;
    const auto& own = schedule.modules[module];
    for (auto one : {own.fetch, own.prefetch})
      if (one) launched_[*one] = gather(*one, schedule.gathers[*one]);
    for (auto one : own.awaited) {
      step_.wait(launched_[one]);
      step_.pass(Activity::copy_out, one, step_.passes().out, 2 * held(schedule.gathers[one]));
    }
  }

  void backward(std::size_t module) {
    std::vector<std::size_t> reductions;
    std::size_t bucket = 0, place = 0;
    for (const auto& pass : plan_.backward) {
      gathers(module++);
      step_.compute(Activity::backward, index_, pass.duration);
      // The gradient with which the next bucket begins is what has this one reduced.
      for (std::size_t i = 0; i < pass.arrived.size(); ++i, ++place) {
        if (place == plan_.buckets[bucket].end) reduce(bucket++, reductions);
        if (is_last_ && place + 1 == plan_.buckets[bucket].end) step_.set_ready(bucket);
      }
    }
    reduce(bucket, reductions);
    for (auto one : reductions) step_.wait(one);
  }

  // `reductions`: that nobody waits for yet.
  void reduce(std::size_t bucket, std::vector<std::size_t>& reductions) {
    if (reductions.size() == kReductionsInFlight) {
      step_.wait(reductions.front());
      reductions.erase(reductions.begin());
      step_.compute(Activity::copy_in, bucket, {});
    }
    step_.pass(Activity::copy_in, bucket, step_.passes().in,
               held(plan_.buckets[bucket].elements) + plan_.reduced(bucket));
    auto op = step_.collective(
        0, Activity::reduce_scatter, Operation::reduce_scatter, bucket, plan_.reduced(bucket),
        {*step_.last_compute()},
        offload_time(plan_.buckets[bucket].elements, plan_, plan_.options, {index_ == 0, is_last_}));
    if (plan_.overlaps)
      reductions.push_back(op);
    else
      step_.wait(op);
  }

  const LayerTrace& trace_;
  const Zero3Plan& plan_;
  StepBuilder step_;
  std::vector<std::size_t> launched_;  // by gather of this micro-batch: its op
  std::size_t index_ = 0;
  bool is_last_ = false;
};

}  // namespace

Zero3Plan make_zero3_plan(const LayerTrace& trace, const ZeroOptions& options, int ranks) {
  Zero3Plan plan;
  plan.strategy = Strategy::zero3;
  plan.ranks = ranks;
  plan.param_dtype = options.param_dtype;
  plan.reduce_dtype = options.reduce_dtype.value_or(options.param_dtype);
  plan.options = options;
  plan.overlaps = options.overlap_comm.value_or(true);
  plan.forward = forward_modules(trace);
  plan.backward = backward_modules(trace);
  auto modules = plan.forward;
  modules.insert(modules.end(), plan.backward.begin(), plan.backward.end());
  plan.schedule = schedule_gathers(trace, modules, options);
  auto order = std::make_shared<std::vector<std::size_t>>();
  for (const auto& pass : plan.backward)
    order->insert(order->end(), pass.arrived.begin(), pass.arrived.end());
  plan.buckets = buckets_before_exceeding(trace, *order, options.reduce_bucket_size);
  plan.order = std::move(order);
  return plan;
}

StepProgram step_program(const LayerTrace& trace, const Zero3Plan& plan, int accumulation_steps,
                         const Overheads& overheads) {
  return Zero3Builder(trace, plan, overheads).take(accumulation_steps);
}

}  // namespace ddpsim
