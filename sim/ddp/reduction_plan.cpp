#include "sim/ddp/reduction_plan.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/check.hpp"
#include "sim/ddp/ddp_rules.hpp"

namespace ddpsim {
namespace {

Bucket single_bucket(const LayerTrace& trace, std::size_t gradient) {
  return {.gradients = {gradient},
          .bytes = trace.gradients[gradient].bytes(),
          .dtype = trace.gradients[gradient].dtype};
}

std::vector<Bucket> one_bucket_each(const LayerTrace& trace, const std::vector<std::size_t>& gradients) {
  std::vector<Bucket> buckets;
  buckets.reserve(gradients.size());
  for (auto gradient : gradients) buckets.push_back(single_bucket(trace, gradient));
  return buckets;
}

// Tensors of different dtypes cannot be flattened into one buffer.
std::vector<Bucket> one_bucket_per_dtype(const LayerTrace& trace, const std::vector<std::size_t>& gradients) {
  std::vector<Bucket> buckets;
  for (auto gradient : gradients) {
    auto dtype = trace.gradients[gradient].dtype;
    auto bucket =
        std::find_if(buckets.begin(), buckets.end(), [&](const Bucket& b) { return b.dtype == dtype; });
    if (bucket == buckets.end())
      bucket = buckets.insert(bucket, {.gradients = {}, .bytes = Bytes(0), .dtype = dtype});
    bucket->gradients.push_back(gradient);
    bucket->bytes += trace.gradients[gradient].bytes();
  }
  return buckets;
}

// `gradients` are what was assigned, in that order.
std::vector<Bucket> assigned_buckets(const BucketAssignment& assignment,
                                     const std::vector<std::size_t>& gradients) {
  // As much memory as it takes and no more: a sweep keeps thousands of plans.
  std::vector<std::size_t> sizes(assignment.buckets.size());
  for (auto bucket : assignment.bucket_of) ++sizes[bucket];
  std::vector<Bucket> buckets;
  buckets.reserve(sizes.size());
  for (const auto& bucket : assignment.buckets) {
    auto size = sizes[buckets.size()];
    buckets.push_back({.gradients = {}, .bytes = bucket.bytes, .dtype = bucket.dtype});
    buckets.back().gradients.reserve(size);
  }
  for (std::size_t i = 0; i < gradients.size(); ++i)
    buckets[assignment.bucket_of[i]].gradients.push_back(gradients[i]);
  return buckets;
}

std::vector<Bucket> ddp_buckets(const LayerTrace& trace, const AssignmentRule& rule) {
  auto buckets = assigned_buckets(
      compute_bucket_assignment(rule_tensors(trace, rule), rule.limits, rule.order), rule.gradients);
  if (rule.reverse_buckets) std::reverse(buckets.begin(), buckets.end());
  return buckets;
}

// What a hand-written loop over the parameters reduces: those that have a gradient.
std::vector<std::size_t> without(const std::vector<std::size_t>& gradients,
                                 const std::vector<std::size_t>& unused) {
  std::vector<std::size_t> used;
  std::copy_if(gradients.begin(), gradients.end(), std::back_inserter(used), [&](std::size_t gradient) {
    return !std::binary_search(unused.begin(), unused.end(), gradient);
  });
  return used;
}

std::vector<std::size_t> arrival_order(const LayerTrace& trace) {
  std::vector<std::size_t> order(trace.gradients.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  return order;
}

// default_hooks.py: fp16_compress_hook, bf16_compress_hook. Buckets are those of the gradients' own dtype.
void set_wire_bytes(const LayerTrace& trace, ReductionPlan& plan) {
  for (auto& bucket : plan.buckets) {
    bucket.wire = plan.comm_hook == CommHook::none ? bucket.bytes : Bytes(0);
    if (plan.comm_hook == CommHook::none) continue;
    for (auto gradient : bucket.gradients)
      bucket.wire += Bytes(2.0 * static_cast<double>(trace.gradients[gradient].elements));
  }
}

void plan_ddp(const LayerTrace& trace, const DdpOptions& options, ReductionPlan& plan) {
  auto rule = ddp_assignment_rule(trace, options, plan.unused);
  plan.buckets = ddp_buckets(trace, rule);
  plan.is_distributed_data_parallel = true;
  plan.comm_hook = options.comm_hook;
  plan.buffer_broadcasts = options.broadcast_buffers.value_or(trace.buffers);
  plan.launch = delays_all_reduce(options) ? LaunchRule::after_backward : LaunchRule::when_ready;
  if (std::isfinite(rule.limits.back().value())) plan.bucket_cap = rule.limits.back();
  if (plan.bucket_cap && rule.limits.front() != rule.limits.back())
    plan.first_bucket_cap = rule.limits.front();
  // reducer.cpp: local_used_map_ is an int32 tensor with one entry a parameter; all_reduce_local_used_map is
  // called for every backward pass that searches for unused parameters and by delay_all_reduce.
  if (searches_unused_parameters(options) || delays_all_reduce(options))
    plan.used_parameter_bitmap = Bytes(4.0 * static_cast<double>(trace.gradients.size()));
}

// Parameters in the reverse of the order in which they were registered; each bucket is launched when it is
// complete, whatever the others are.
void plan_hand_written(const LayerTrace& trace, const DdpOptions& options, ReductionPlan& plan) {
  AssignmentRule rule;
  rule.gradients = without(trace.registration_order, plan.unused);
  std::reverse(rule.gradients.begin(), rule.gradients.end());
  plan.bucket_cap = options.bucket_cap;
  plan.buckets =
      assigned_buckets(close_before_exceeding(rule_tensors(trace, rule), *plan.bucket_cap), rule.gradients);
  auto last = [](const Bucket& bucket) {
    return *std::max_element(bucket.gradients.begin(), bucket.gradients.end());
  };
  std::stable_sort(plan.buckets.begin(), plan.buckets.end(),
                   [&](const Bucket& a, const Bucket& b) { return last(a) < last(b); });
}

}  // namespace

ReductionPlan make_reduction_plan(const LayerTrace& trace, Strategy strategy, const DdpOptions& options) {
  DDPSIM_CHECK(trace.registration_order.size() == trace.gradients.size(),
               "a trace orders all its parameters");
  check_options(options);
  ReductionPlan plan;
  plan.strategy = strategy;
  plan.accumulation_steps = options.accumulation_steps;
  plan.unused = find_unused_gradients(trace, options);
  switch (strategy) {
    case Strategy::naive:
      plan.buckets = one_bucket_each(trace, without(trace.registration_order, plan.unused));
      plan.launch = LaunchRule::after_backward;
      break;
    case Strategy::flat:
      plan.buckets = one_bucket_per_dtype(trace, without(trace.registration_order, plan.unused));
      plan.launch = LaunchRule::after_backward;
      break;
    case Strategy::overlap:
      plan.buckets = one_bucket_each(trace, without(arrival_order(trace), plan.unused));
      plan.launch = LaunchRule::when_ready;
      break;
    case Strategy::ddp:
      if (options.rule == BucketRule::torch)
        plan_ddp(trace, options, plan);
      else
        plan_hand_written(trace, options, plan);
      break;
  }
  DDPSIM_CHECK(!plan.buckets.empty(), "a plan reduces something");
  set_wire_bytes(trace, plan);
  return plan;
}

DType wire_dtype(const ReductionPlan& plan, const Bucket& bucket) {
  switch (plan.comm_hook) {
    case CommHook::none:
      return bucket.dtype;
    case CommHook::fp16:
      return DType::float16;
    case CommHook::bf16:
      return DType::bfloat16;
  }
  DDPSIM_CHECK(false, "every hook has a dtype");
  return {};
}

bool depends_on_registration(Strategy strategy, const DdpOptions& options) {
  if (strategy == Strategy::naive) return true;
  if (strategy != Strategy::ddp) return false;
  return options.rule == BucketRule::close_before_exceeding || has_initial_buckets(options) ||
         options.unused_parameters.size() > 1;
}

std::vector<std::size_t> completing_gradients(const LayerTrace& trace, const ReductionPlan& plan) {
  auto is_unused = [&](std::size_t gradient) {
    return std::binary_search(plan.unused.begin(), plan.unused.end(), gradient);
  };
  std::size_t first_used = 0;
  while (is_unused(first_used)) ++first_used;
  DDPSIM_CHECK(first_used < trace.gradients.size(), "some gradient arrives");
  std::vector<std::size_t> completing;
  completing.reserve(plan.buckets.size());
  for (const auto& bucket : plan.buckets) {
    std::size_t last = 0;  // gradients are in the order of their arrival
    for (auto gradient : bucket.gradients) last = std::max(last, is_unused(gradient) ? first_used : gradient);
    completing.push_back(last);
  }
  return completing;
}

std::vector<Seconds> bucket_ready_times(const LayerTrace& trace, const ReductionPlan& plan) {
  std::vector<Seconds> ready;
  ready.reserve(plan.buckets.size());
  for (auto gradient : completing_gradients(trace, plan)) ready.push_back(trace.gradients[gradient].ready);
  return ready;
}

std::vector<Bytes> construction_broadcasts(const LayerTrace& trace, const ReductionPlan& plan) {
  std::vector<Bytes> broadcasts;
  if (!plan.is_distributed_data_parallel) return broadcasts;
  constexpr Bytes kBroadcastBucket(250 * 0x1p20);  // distributed.py: broadcast_bucket_size
  std::vector<TensorSize> tensors;
  for (auto parameter : trace.registration_order)
    tensors.push_back({trace.gradients[parameter].bytes(), trace.gradients[parameter].dtype});
  auto assignment = compute_bucket_assignment(tensors, {&kBroadcastBucket, 1}, BucketOrder::by_first_tensor);
  for (const auto& bucket : assignment.buckets) broadcasts.push_back(bucket.bytes);
  broadcasts.insert(broadcasts.end(), plan.buffer_broadcasts.begin(), plan.buffer_broadcasts.end());
  return broadcasts;
}

}  // namespace ddpsim
