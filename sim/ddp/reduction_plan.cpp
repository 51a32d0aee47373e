#include "sim/ddp/reduction_plan.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/check.hpp"
#include "sim/ddp/ddp_rules.hpp"

namespace ddpsim {
namespace {

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

// What the buckets are made of, in that order.
std::vector<std::size_t> assignment_order(const LayerTrace& trace, Reducer reducer, const DdpOptions& options,
                                          const std::vector<std::size_t>& unused) {
  switch (reducer) {
    case Reducer::naive:
    case Reducer::flat:
      return without(trace.registration_order, unused);
    case Reducer::overlap:
      return without(arrival_order(trace), unused);
    case Reducer::ddp:
      break;
    default:
      DDPSIM_CHECK(false, "a sharded strategy has a plan of its own");
  }
  if (options.rule == BucketRule::torch) return ddp_assignment_order(trace, options, unused);
  auto order = without(trace.registration_order, unused);
  std::reverse(order.begin(), order.end());
  return order;
}

// default_hooks.py: fp16_compress_hook, bf16_compress_hook. Buckets are those of the gradients' own dtype.
Bytes wire_bytes(const ReductionPlan& plan, const AssignedBucket& bucket) {
  double element = bytes_per_element(bucket.dtype);
  if (plan.low_rank)
    return Bytes(element * static_cast<double>(low_rank_elements(*plan.low_rank, bucket.tensors).sum()));
  bool casts = plan.comm_hook == CommHook::fp16 || plan.comm_hook == CommHook::bf16;
  return casts ? 2 * (bucket.bytes / element) : bucket.bytes;
}

void set_buckets(const std::vector<AssignedBucket>& assigned, ReductionPlan& plan) {
  plan.buckets.clear();
  plan.buckets.reserve(assigned.size());
  for (const auto& bucket : assigned)
    plan.buckets.push_back({bucket.tensors, bucket.bytes, bucket.dtype, wire_bytes(plan, bucket)});
}

// Each bucket is launched when it is complete, whatever the others are.
void set_hand_written_buckets(Bytes cap, ReductionPlan& plan) {
  set_buckets(plan.walk->close_before_exceeding(cap), plan);
  plan.bucket_cap = cap;
  auto last = [](const Bucket& bucket) { return std::ranges::max(bucket.gradients); };
  std::stable_sort(plan.buckets.begin(), plan.buckets.end(),
                   [&](const Bucket& a, const Bucket& b) { return last(a) < last(b); });
}

void set_ddp_buckets(const DdpOptions& options, ReductionPlan& plan) {
  if (options.rule == BucketRule::close_before_exceeding)
    return set_hand_written_buckets(*options.bucket_cap, plan);
  auto rule = ddp_assignment_rule(options);
  set_buckets(plan.walk->assign(rule.limits, rule.order), plan);
  if (rule.reverse_buckets) std::reverse(plan.buckets.begin(), plan.buckets.end());
  plan.bucket_cap = plan.first_bucket_cap = std::nullopt;
  if (std::isfinite(rule.limits.back().value())) plan.bucket_cap = rule.limits.back();
  if (plan.bucket_cap && rule.limits.front() != rule.limits.back())
    plan.first_bucket_cap = rule.limits.front();
  if (plan.compiled_graph) plan.subgraph_end = subgraphs(*plan.compiled_graph, compiled_cap(options)).ends;
}

void plan_ddp(const LayerTrace& trace, const DdpOptions& options, ReductionPlan& plan) {
  plan.comm_hook = options.comm_hook;
  if (compresses_low_rank(trace, options))
    plan.low_rank =
        std::make_shared<const LowRankPlan>(low_rank_plan(trace, options.parameter_rows, options.power_sgd));
  if (options.compiled)
    plan.compiled_graph =
        std::make_shared<const CompiledGraph>(compiled_graph(trace, plan.unused, options.tied_head));
  plan.process_groups = options.process_groups;
  plan.reduces_every_micro_batch = options.reduce_every_micro_batch;
  set_ddp_buckets(options, plan);
  if (options.rule != BucketRule::torch) return;
  plan.is_distributed_data_parallel = true;
  plan.buffer_broadcasts = options.broadcast_buffers.value_or(trace.buffers);
  plan.launch = delays_all_reduce(options) ? LaunchRule::after_backward : LaunchRule::when_ready;
  // reducer.cpp: local_used_map_ is an int32 tensor with one entry a parameter; all_reduce_local_used_map is
  // called for every backward pass that searches for unused parameters and by delay_all_reduce.
  if (searches_unused_parameters(options) || delays_all_reduce(options))
    plan.used_parameter_bitmap =
        Bytes(4.0 * static_cast<double>(std::ranges::count(trace.gradients, false, &Gradient::is_frozen)));
}

}  // namespace

ReductionPlan make_reduction_plan(const LayerTrace& trace, Reducer reducer, const DdpOptions& options) {
  DDPSIM_CHECK(trace.registration_order.size() == trace.gradients.size(),
               "a trace orders all its parameters");
  check_options(options);
  ReductionPlan plan;
  plan.reducer = reducer;
  plan.accumulation_steps = options.accumulation_steps;
  plan.unused = find_unused_gradients(trace, options);
  auto order = assignment_order(trace, reducer, options, plan.unused);
  std::erase_if(order, [&](std::size_t gradient) { return trace.gradients[gradient].is_frozen; });
  plan.walk = std::make_shared<const TensorWalk>(tensors_of(trace, order));
  auto cut = [&](Bytes limit) {
    set_buckets(plan.walk->assign({&limit, 1}, BucketOrder::by_first_tensor), plan);
  };
  switch (reducer) {
    case Reducer::naive:
      cut(Bytes(1));
      plan.launch = LaunchRule::after_backward;
      break;
    case Reducer::flat:  // tensors of different dtypes cannot be flattened into one buffer
      cut(kNoLimit);
      plan.launch = LaunchRule::after_backward;
      break;
    case Reducer::overlap:
      cut(Bytes(1));
      plan.launch = LaunchRule::when_ready;
      break;
    case Reducer::ddp:
      plan_ddp(trace, options, plan);
      break;
    default:
      DDPSIM_CHECK(false, "a sharded strategy has a plan of its own");
  }
  DDPSIM_CHECK(!plan.buckets.empty() || order.empty(), "what has gradients is reduced");
  return plan;
}

ReductionPlan with_bucket_cap(ReductionPlan plan, DdpOptions options, Bytes cap) {
  options.bucket_cap = cap;
  set_ddp_buckets(options, plan);
  return plan;
}

std::vector<Bytes> all_reduces_of(const ReductionPlan& plan) {
  std::vector<Bytes> all;
  for (const auto& bucket : plan.buckets) {
    if (!plan.low_rank) {
      all.push_back(bucket.wire);
      continue;
    }
    auto elements = low_rank_elements(*plan.low_rank, bucket.gradients);
    for (auto n : {elements.whole, elements.p, elements.q})
      if (n > 0) all.emplace_back(static_cast<double>(n) * bytes_per_element(bucket.dtype));
  }
  return all;
}

DType wire_dtype(const ReductionPlan& plan, const Bucket& bucket) {
  switch (plan.comm_hook) {
    case CommHook::none:
    case CommHook::power_sgd:
      return bucket.dtype;
    case CommHook::fp16:
      return DType::float16;
    case CommHook::bf16:
      return DType::bfloat16;
  }
  DDPSIM_CHECK(false, "every hook has a dtype");
  return {};
}

bool depends_on_registration(Reducer reducer, const DdpOptions& options) {
  if (reducer == Reducer::naive) return true;
  if (reducer != Reducer::ddp) return false;
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
  for (auto gradient : completing_gradients(trace, plan)) {
    if (!plan.subgraph_end.empty()) gradient = plan.subgraph_end[gradient];
    ready.push_back(trace.gradients[gradient].ready);
  }
  return ready;
}

std::vector<Bytes> construction_broadcasts(const LayerTrace& trace, const ReductionPlan& plan) {
  std::vector<Bytes> broadcasts;
  if (!plan.is_distributed_data_parallel) return broadcasts;
  constexpr Bytes kBroadcastBucket(250 * 0x1p20);  // distributed.py: broadcast_bucket_size
  TensorWalk walk(tensors_of(trace, trace.registration_order));
  for (const auto& bucket : walk.assign({&kBroadcastBucket, 1}, BucketOrder::by_first_tensor))
    broadcasts.push_back(bucket.bytes);
  broadcasts.insert(broadcasts.end(), plan.buffer_broadcasts.begin(), plan.buffer_broadcasts.end());
  return broadcasts;
}

}  // namespace ddpsim
