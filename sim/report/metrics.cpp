#include "sim/report/metrics.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "sim/base/check.hpp"
#include "sim/base/source.hpp"

namespace ddpsim {
namespace {

// Of the activity itself, without what was lost to interference.
Seconds time_in(const std::vector<Span>& lane, Activity activity) {
  Seconds sum;
  for (const auto& span : lane)
    if (span.activity == activity) sum += span.end - span.start - span.lost;
  return sum;
}

Seconds time_lost(const std::vector<Span>& lane) {
  Seconds sum;
  for (const auto& span : lane) sum += span.lost;
  return sum;
}

// Of what is waited for and done after backward until the optimizer steps.
Seconds tail_of(const std::vector<Span>& lane) {
  Seconds sum;
  for (const auto& span : lane)
    if (span.activity == Activity::wait || span.activity == Activity::copy_out) sum += span.end - span.start;
  return sum;
}

void measure_compute(const RankTimeline& rank, IterationMetrics& metrics) {
  metrics.forward = time_in(rank.compute, Activity::forward);
  metrics.backward_compute = time_in(rank.compute, Activity::backward);
  metrics.interference = time_lost(rank.compute);
  for (auto activity : {Activity::copy_in, Activity::copy_out, Activity::launch})
    metrics.overhead += time_in(rank.compute, activity);
  metrics.tail = tail_of(rank.compute);
  metrics.buffer_broadcast = time_in(rank.compute, Activity::broadcast);
  metrics.exposed_communication = time_in(rank.compute, Activity::wait) + metrics.buffer_broadcast;
  metrics.optimizer = time_in(rank.compute, Activity::optimizer);
  metrics.iteration = rank.compute.back().end - rank.compute.front().start;
  auto sum = metrics.forward + metrics.backward_compute + metrics.interference + metrics.overhead +
             metrics.exposed_communication + metrics.optimizer;
  // Both sides are sums of a few differences of doubles, so they agree far better than this.
  DDPSIM_CHECK(std::abs((sum - metrics.iteration).value()) <= 1e-9 * metrics.iteration.value(),
               "the terms of an iteration add up to it");
}

void measure_communication(const RankTimeline& rank, const IterationContext& context,
                           IterationMetrics& metrics) {
  const auto& buckets = context.plan.buckets;
  DDPSIM_CHECK(rank.bucket_ready.size() == buckets.size(), "one ready time a bucket");
  metrics.buckets.reserve(buckets.size());
  Bytes bytes;
  Seconds busy_until = rank.communication.front().start;
  for (const auto& span : rank.communication) {
    if (span.end > busy_until) metrics.communication += span.end - std::max(span.start, busy_until);
    busy_until = std::max(busy_until, span.end);
    if (span.activity == Activity::broadcast) continue;
    BucketMetrics collective;
    collective.start = span.start - rank.backward_start;
    collective.end = span.end - rank.backward_start;
    if (span.activity == Activity::used_parameter_bitmap) {
      DDPSIM_CHECK(context.plan.used_parameter_bitmap, "only a planned bitmap is reduced");
      collective.bytes = collective.wire = *context.plan.used_parameter_bitmap;
      // Which parameters were used is known with the last gradient.
      collective.ready =
          *std::max_element(rank.bucket_ready.begin(), rank.bucket_ready.end()) - rank.backward_start;
      if (context.choice) collective.choice = context.choice(rank.group, collective.wire);
      metrics.used_parameter_bitmap = collective;
    } else {
      DDPSIM_CHECK(span.index < buckets.size(), "only planned buckets are reduced");
      collective.index = span.index;
      collective.bytes = buckets[span.index].bytes;
      collective.wire = buckets[span.index].wire;
      collective.n_gradients = buckets[span.index].gradients.size();
      collective.ready = rank.bucket_ready[span.index] - rank.backward_start;
      if (context.choice) collective.choice = context.choice(rank.group, collective.wire);
      metrics.buckets.push_back(collective);
    }
    bytes += collective.wire;
  }
  DDPSIM_CHECK(metrics.buckets.size() == buckets.size(), "every bucket is reduced once");
  DDPSIM_CHECK(bytes > Bytes(0), "something was communicated");
  auto all_reduces = metrics.communication - metrics.buffer_broadcast;
  if (all_reduces <= Seconds(0))
    throw InputError("the all-reduces are too short to be told apart at times as long as this trace's",
                     "check the units of the topology's bandwidth and latency, and of the trace's times");
  double n = rank.group_size;
  metrics.algbw = bytes / all_reduces;
  metrics.busbw = metrics.algbw * (2 * (n - 1) / n);  // nccl-tests, PERFORMANCE.md, AllReduce
}

std::vector<std::string_view> sources_of_times(const std::vector<BucketMetrics>& buckets) {
  std::vector<std::string_view> sources;
  for (const auto& bucket : buckets)
    if (bucket.choice && std::find(sources.begin(), sources.end(), bucket.choice->times) == sources.end())
      sources.push_back(bucket.choice->times);
  return sources;
}

void measure_throughput(const IterationContext& context, IterationMetrics& metrics) {
  const auto& trace = context.trace;
  double steps = context.plan.accumulation_steps;
  // The same micro-batches on one GPU without slowdown, which has nobody to wait for.
  auto alone =
      steps * (trace.forward.value_or(Seconds(0)) + trace.backward()) + trace.optimizer.value_or(Seconds(0));
  if (alone > Seconds(0)) metrics.scaling_efficiency = alone / metrics.iteration;
  if (auto batch = trace.metadata.batch_size)
    metrics.samples_per_s =
        static_cast<double>(*batch) * metrics.group_size * steps / metrics.iteration.value();
  if (auto sequence = trace.metadata.sequence_length; sequence && metrics.samples_per_s)
    metrics.tokens_per_s = *metrics.samples_per_s * static_cast<double>(*sequence);
}

}  // namespace

std::string misfit_line(const MemoryMetrics& memory) {
  double share = memory.parts.peak() / memory.capacity;
  auto how = share > 1 ? fmt::format("{:.2f} times its memory", share)
                       : fmt::format("{:.0f} % of its memory, and above {:.0f} % it may not", 100 * share,
                                     100 * kFittingShare);
  return fmt::format("{}: {:.1f} GB on {} of {:.0f} GB, {}", share > 1 ? "does not fit" : "may not fit",
                     memory.parts.peak().value() / 1e9, memory.gpu, memory.capacity.value() / 1e9, how);
}

IterationMetrics measure(const Timeline& timeline, const IterationContext& context) {
  const auto& rank = timeline.last_to_finish();
  DDPSIM_CHECK(!rank.communication.empty(), "something was communicated");
  IterationMetrics metrics;
  metrics.world_size = context.world_size;
  metrics.group_size = rank.group_size;
  metrics.strategy = context.plan.strategy;
  metrics.bucket_cap = context.plan.bucket_cap;
  metrics.first_bucket_cap = context.plan.first_bucket_cap;
  metrics.n_buckets = context.plan.buckets.size();
  metrics.comm_hook = context.plan.comm_hook;
  metrics.algorithm = context.algorithm;
  metrics.fidelity = context.fidelity;
  metrics.reported_rank = rank.rank;
  metrics.slowdown = rank.slowdown;
  metrics.collective_workers = context.collective_workers;
  metrics.trace_synthetic = synthetic_mark(context.trace.metadata);
  measure_compute(rank, metrics);
  measure_communication(rank, context, metrics);
  metrics.sources_of_times = sources_of_times(metrics.buckets);
  measure_throughput(context, metrics);
  return metrics;
}

}  // namespace ddpsim
