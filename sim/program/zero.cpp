#include "sim/program/zero.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/core.h>

#include "sim/base/source.hpp"
#include "sim/program/step_builder.hpp"

namespace ddpsim {
namespace {

// utils.py: pieces of the same size, as many whole allgather_bucket_size as there are; the last one has the
// rest. A rank's part is padded to two elements.
std::vector<Bytes> gathers_of(const LayerTrace& trace, const ZeroOptions& options, int ranks) {
  constexpr std::int64_t kAlignment = 2;
  auto all = padded(total_elements(trace), kAlignment * ranks);
  auto part = all / ranks, pieces = std::max<std::int64_t>(1, all / options.allgather_bucket_size);
  constexpr std::int64_t kMostPieces = 100'000;
  if (pieces > kMostPieces)
    throw InputError(fmt::format("{} elements in pieces of {} are {} all-gathers", all,
                                 options.allgather_bucket_size, pieces),
                     "DeepSpeed's own zero.allgather_bucket_size is 5e8 elements");
  auto piece = part / pieces;
  piece -= piece % kAlignment;
  std::vector<Bytes> gathers;
  for (std::int64_t i = 0; i < pieces; ++i)
    gathers.push_back(
        BucketedPlan::bytes_of((i + 1 < pieces ? piece : part - i * piece) * ranks, options.param_dtype));
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
    auto steps = optimizer_time(trace_, plan_, plan_.options);
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
  [[nodiscard]] bool reduces_at_the_end() const {
    return plan_.strategy == Strategy::zero1 && !plan_.overlaps;
  }

  void micro_batch() {
    bool reduces = is_last_ || plan_.strategy == Strategy::zero2;
    if (!reduces || reduces_at_the_end()) {
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
    bool adds_up = plan_.strategy == Strategy::zero2;
    return offload_time(plan_.buckets[bucket].elements, plan_, plan_.options,
                        {is_first_ || !adds_up, is_last_});
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

Seconds optimizer_time(const LayerTrace& trace, const BucketedPlan& plan, const ZeroOptions& options) {
  if (!options.offload_optimizer) return trace.optimizer.value_or(Seconds()) / plan.ranks;
  return plan.host.adam(static_cast<double>(total_elements(trace)) / plan.ranks);
}

Seconds offload_time(std::int64_t elements, const BucketedPlan& plan, const ZeroOptions& options,
                     const MicroBatch& of) {
  if (!options.offload_optimizer) return {};
  auto slice = static_cast<double>(elements) / plan.ranks;
  double held = bytes_per_element(options.grad_accum_dtype.value_or(plan.param_dtype));
  double bytes = of.is_last ? bytes_per_element(DType::float32) : 0;
  if (!of.is_only()) bytes += of.is_first ? held : 2 * held;
  return plan.host.copy(Bytes(bytes * slice));
}

ZeroPlan make_zero_plan(const LayerTrace& trace, Strategy strategy, const ZeroOptions& options, int ranks) {
  ZeroPlan plan;
  plan.strategy = strategy;
  plan.ranks = ranks;
  plan.param_dtype = options.param_dtype;
  plan.reduce_dtype = options.reduce_dtype.value_or(options.param_dtype);
  plan.options = options;
  plan.overlaps = options.overlap_comm.value_or(false);
  auto order = std::make_shared<std::vector<std::size_t>>(trace.gradients.size());
  std::iota(order->begin(), order->end(), 0);
  if (strategy == Strategy::zero1 && !plan.overlaps) *order = trace.registration_order;
  plan.buckets = buckets_before_exceeding(trace, *order, options.reduce_bucket_size);
  plan.order = std::move(order);
  plan.gathers = gathers_of(trace, options, ranks);
  return plan;
}

StepProgram step_program(const LayerTrace& trace, const ZeroPlan& plan, int accumulation_steps,
                         const Overheads& overheads) {
  return ZeroBuilder(trace, plan, overheads).take(accumulation_steps);
}

}  // namespace ddpsim
