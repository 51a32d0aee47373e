#include "sim/program/megatron.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "sim/program/step_builder.hpp"

namespace ddpsim {
namespace {

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

}  // namespace

MegatronPlan make_megatron_plan(const LayerTrace& trace, const MegatronOptions& options, int ranks) {
  MegatronPlan plan;
  plan.strategy = Strategy::megatron;
  plan.ranks = ranks;
  plan.param_dtype = options.param_dtype;
  bool in_32_bits = options.grad_reduce_in_fp32.value_or(options.param_dtype != DType::float16);
  plan.reduce_dtype = in_32_bits ? DType::float32 : options.param_dtype;
  plan.options = options;
  auto order = std::make_shared<std::vector<std::size_t>>(trace.registration_order.rbegin(),
                                                          trace.registration_order.rend());
  auto in_buffer = buckets_of(trace, *order, bucket_size_of(options, ranks), ranks);
  plan.order = std::move(order);
  // Launched as they are complete.
  auto completing = [&](const ElementBucket& bucket) {
    auto begin = plan.order->begin();
    return *std::max_element(begin + static_cast<std::ptrdiff_t>(bucket.begin),
                             begin + static_cast<std::ptrdiff_t>(bucket.end));
  };
  plan.buckets = in_buffer;
  std::ranges::sort(plan.buckets, {}, completing);
  plan.forward_order.resize(plan.buckets.size());
  std::iota(plan.forward_order.begin(), plan.forward_order.end(), 0);
  std::ranges::sort(plan.forward_order, std::greater<>(),
                    [&](std::size_t bucket) { return plan.buckets[bucket].begin; });
  plan.forward = forward_modules(trace);
  return plan;
}

StepProgram step_program(const LayerTrace& trace, const MegatronPlan& plan, int accumulation_steps,
                         const Overheads& overheads) {
  return MegatronBuilder(trace, plan, overheads).take(accumulation_steps);
}

}  // namespace ddpsim
