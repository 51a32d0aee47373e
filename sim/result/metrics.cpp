#include "sim/result/metrics.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include <fmt/core.h>

#include "sim/base/check.hpp"
#include "sim/base/source.hpp"
#include "sim/trace/recorded_step.hpp"

namespace ddpsim {
namespace {

// Of the activity itself, without what was lost to interference.
Seconds time_in(const std::vector<Span>& lane, Activity activity) {
  Seconds sum;
  for (const auto& span : lane)
    if (span.activity == activity) sum += span.end - span.start - span.lost;
  return sum;
}

// What no slower GPU makes longer.
Seconds fixed_time_in(const std::vector<Span>& lane, Activity activity) {
  Seconds sum;
  for (const auto& span : lane)
    if (span.activity == activity && span.is_fixed) sum += span.end - span.start - span.lost;
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
  for (auto span = lane.rbegin(); span != lane.rend() && span->activity != Activity::backward; ++span)
    if (span->activity == Activity::wait || span->activity == Activity::copy_out ||
        span->activity == Activity::compress)
      sum += span->end - span->start;
  return sum;
}

// And what PowerSGD computes.
constexpr std::array kCopies{Activity::copy_in, Activity::copy_out, Activity::compress, Activity::host_copy,
                             Activity::peer_copy};

void measure_losses(const RankTimeline& rank, const IterationContext& context, IterationMetrics& metrics) {
  Seconds of_tensor, of_context, of_expert;
  if (!context.within_passes.empty())
    for (const auto& one : context.within_passes[rank.stage])
      (one.axis == "context"            ? of_context
       : one.axis.starts_with("expert") ? of_expert
                                        : of_tensor) += one.exposed;
  Seconds copies, fixed_copies;
  for (auto activity : kCopies) {
    copies += time_in(rank.compute, activity);
    fixed_copies += fixed_time_in(rank.compute, activity);
  }
  auto hooks = time_in(rank.compute, Activity::host_wait);
  auto fixed_optimizer = fixed_time_in(rank.compute, Activity::optimizer);
  // A GPU of the usual speed; drawn ones may all be faster, and lose nothing.
  double slowdown = std::max(rank.slowdown, 1.0);
  auto usual = [&](Seconds time, Seconds fixed = {}) { return (time - fixed) / slowdown + fixed; };
  auto computed = metrics.forward + metrics.backward_compute + metrics.overhead + metrics.optimizer;
  auto slowed = computed - (fixed_copies + fixed_optimizer + hooks);
  std::array<Seconds, kLossCauses.size()> lost{slowed - usual(slowed),
                                               metrics.interference,
                                               of_tensor,
                                               of_context,
                                               of_expert,
                                               metrics.bubble,
                                               metrics.exposed_communication - metrics.buffer_broadcast,
                                               metrics.buffer_broadcast,
                                               usual(copies, fixed_copies),
                                               usual(metrics.overhead - copies - hooks),
                                               hooks,
                                               usual(metrics.optimizer, fixed_optimizer)};
  for (std::size_t i = 0; i < lost.size(); ++i)
    if (lost[i] != Seconds(0)) metrics.losses.push_back({kLossCauses[i].cause, lost[i]});
}

std::vector<Span> waits_of(const std::vector<Span>& compute) {
  std::vector<Span> waits;
  std::copy_if(compute.begin(), compute.end(), std::back_inserter(waits), [](const Span& span) {
    return span.activity == Activity::wait || span.activity == Activity::broadcast;
  });
  return waits;
}

// Of the time on a lane of collectives, in order of their starts, what lies within each span of the other.
Seconds covered(const std::vector<Span>& waits, const std::vector<Span>& collectives) {
  Seconds sum, until;
  auto wait = waits.begin();
  bool is_first = true;
  for (const auto& collective : collectives) {
    auto start = is_first ? collective.start : std::max(until, collective.start);
    until = is_first ? collective.end : std::max(until, collective.end);
    is_first = false;
    while (wait != waits.end() && wait->end <= start) ++wait;
    for (auto one = wait; one != waits.end() && one->start < until; ++one)
      if (auto from = std::max(one->start, start), to = std::min(one->end, until); to > from)
        sum += to - from;
  }
  return sum;
}

void measure_compute(const RankTimeline& rank, const IterationContext& context, IterationMetrics& metrics) {
  metrics.forward = time_in(rank.compute, Activity::forward);
  metrics.backward_compute = time_in(rank.compute, Activity::backward);
  metrics.interference = time_lost(rank.compute);
  for (auto activity : kCopies) metrics.overhead += time_in(rank.compute, activity);
  for (auto activity : {Activity::launch, Activity::host_wait})
    metrics.overhead += time_in(rank.compute, activity);
  metrics.tail = tail_of(rank.compute);
  metrics.buffer_broadcast = time_in(rank.compute, Activity::broadcast);
  metrics.exposed_communication = time_in(rank.compute, Activity::wait) + metrics.buffer_broadcast;
  if (context.has_stages) {
    auto waited = metrics.exposed_communication;
    metrics.exposed_communication = std::min(waited, covered(waits_of(rank.compute), rank.communication));
    metrics.bubble = waited - metrics.exposed_communication;
  }
  metrics.optimizer = time_in(rank.compute, Activity::optimizer);
  metrics.iteration = rank.compute.back().end - rank.compute.front().start;
  auto sum = metrics.forward + metrics.backward_compute + metrics.interference + metrics.overhead +
             metrics.bubble + metrics.exposed_communication + metrics.optimizer;
  measure_losses(rank, context, metrics);
  // Both sides are sums of a few differences of doubles, so they agree far better than this.
  DDPSIM_CHECK(std::abs((sum - metrics.iteration).value()) <= 1e-9 * metrics.iteration.value(),
               "the terms of an iteration add up to it");
}

// Waits are in order of time; each counts for whatever is in flight then.
Seconds exposed(const Span& collective, const std::vector<Span>& waits) {
  Seconds sum;
  auto wait = std::partition_point(waits.begin(), waits.end(),
                                   [&](const Span& span) { return span.end <= collective.start; });
  for (; wait != waits.end() && wait->start < collective.end; ++wait)
    sum += std::min(wait->end, collective.end) - std::max(wait->start, collective.start);
  return sum;
}

CommunicatorRanks ranks_of(const Span& span, const RankTimeline& rank, const IterationContext& context) {
  if (context.axis_of_group) return context.axis_of_group(rank.communicators.at(span.communicator));
  if (context.communicators.empty()) return {.ranks = rank.group_size};
  return context.communicators.at(span.communicator);
}

void measure_operations(const RankTimeline& rank, const IterationContext& context,
                        IterationMetrics& metrics) {
  auto waits = waits_of(rank.compute);
  auto& all = metrics.operations;
  if (!context.within_passes.empty()) all = context.within_passes[rank.stage];
  for (const auto& span : rank.communication) {
    if (span.activity == Activity::serve) continue;
    auto operation = operation_of(span.activity);
    const auto of = ranks_of(span, rank, context);
    if (of.ranks == 1) continue;
    auto known = std::find_if(all.begin(), all.end(), [&](const auto& one) {
      return one.operation == operation && one.axis == of.axis;
    });
    if (known == all.end()) known = all.insert(all.end(), {of.axis, operation});
    ++known->count;
    known->bytes += span.bytes;
    known->busy += span.end - span.start;
    known->exposed += exposed(span, waits);
  }
}

// Of its bytes on the wire, and how NCCL would carry it out.
BucketMetrics collective_of(const Span& span, const RankTimeline& rank, const IterationContext& context) {
  BucketMetrics collective;
  collective.start = span.start - rank.backward_start;
  collective.end = span.end - rank.backward_start;
  collective.bytes = collective.wire = span.bytes;
  if (context.choice)
    collective.choice =
        context.choice(rank.communicators.at(span.communicator), operation_of(span.activity), span.bytes);
  return collective;
}

// The bucket's own part of it. Of several micro-batches the last one's counts; where a bucket is reduced in
// several steps, all of them.
void add_bucket(const Span& span, const RankTimeline& rank, const IterationContext& context,
                std::vector<std::optional<std::pair<Activity, BucketMetrics>>>& by_index,
                std::vector<std::size_t>& order) {
  DDPSIM_CHECK(span.index < by_index.size(), "only planned buckets are reduced");
  auto& known = by_index[span.index];
  bool is_part = context.plan.low_rank != nullptr;
  if (known && (is_part || known->first != span.activity)) {
    known->second.end = std::max(known->second.end, span.end - rank.backward_start);
    if (is_part) known->second.wire += span.bytes;
    return;
  }
  if (known) std::erase(order, span.index);
  order.push_back(span.index);
  auto collective = collective_of(span, rank, context);
  const auto& bucket = context.plan.buckets[span.index];
  collective.index = span.index;
  collective.bytes = bucket.bytes;
  collective.n_gradients = bucket.gradients.size();
  collective.ready = rank.bucket_ready[span.index] - rank.backward_start;
  known = {span.activity, std::move(collective)};
}

// Of a bucket; the others carry parameters.
bool is_reduction(Activity activity) {
  return activity != Activity::all_gather && activity != Activity::replicate && activity != Activity::pull;
}

void measure_communication(const RankTimeline& rank, const IterationContext& context,
                           IterationMetrics& metrics) {
  const auto& buckets = context.plan.buckets;
  DDPSIM_CHECK(rank.bucket_ready.size() == buckets.size(), "one ready time a bucket");
  std::vector<std::optional<std::pair<Activity, BucketMetrics>>> by_index(buckets.size());
  std::vector<std::size_t> order;
  Bytes bytes, on_bus;
  bool is_alone = true;  // nobody to communicate with: collectives take no time
  if (rank.communication.empty()) return;
  Seconds busy_until = rank.communication.front().start;
  for (const auto& span : rank.communication) {
    if (span.activity == Activity::serve) continue;
    if (span.end > busy_until) metrics.communication += span.end - std::max(span.start, busy_until);
    busy_until = std::max(busy_until, span.end);
    if (span.activity == Activity::broadcast) continue;
    auto operation = operation_of(span.activity);
    auto ranks = ranks_of(span, rank, context).ranks;
    is_alone = is_alone && ranks == 1;
    bytes += span.bytes;
    on_bus += span.bytes * busbw_factor(operation, ranks);
    if (buckets.empty()) continue;  // what parts of a model reduce, or a program, are no buckets of the plan
    if (span.activity == Activity::used_parameter_bitmap) {
      metrics.used_parameter_bitmap = collective_of(span, rank, context);
      // Which parameters were used is known with the last gradient.
      metrics.used_parameter_bitmap->ready =
          *std::max_element(rank.bucket_ready.begin(), rank.bucket_ready.end()) - rank.backward_start;
    } else if (is_reduction(span.activity)) {
      add_bucket(span, rank, context, by_index, order);
    }
  }
  DDPSIM_CHECK(order.size() == buckets.size(), "every bucket is reduced");
  metrics.buckets.reserve(buckets.size());
  for (auto index : order) metrics.buckets.push_back(std::move(by_index[index]->second));
  DDPSIM_CHECK(bytes > Bytes(0), "something was communicated");
  auto all_reduces = metrics.communication - metrics.buffer_broadcast;
  if (is_alone) return;
  if (all_reduces <= Seconds(0))
    throw InputError("the all-reduces are too short to be told apart at times as long as this trace's",
                     "check the units of the topology's bandwidth and latency, and of the trace's times");
  metrics.algbw = bytes / all_reduces;
  metrics.busbw = on_bus / all_reduces;
}

std::vector<std::string_view> sources_of_times(const std::vector<BucketMetrics>& buckets) {
  std::vector<std::string_view> sources;
  for (const auto& bucket : buckets)
    if (bucket.choice && std::find(sources.begin(), sources.end(), bucket.choice->times) == sources.end())
      sources.push_back(bucket.choice->times);
  return sources;
}

// Of recorded stages, each of as many ranks.
Seconds mean_work(const std::vector<std::shared_ptr<const RecordedStep>>& steps) {
  Seconds sum;
  for (const auto& step : steps) sum = std::accumulate(step->times.begin(), step->times.end(), sum);
  return sum / static_cast<double>(steps.size());
}

void measure_throughput(const IterationContext& context, IterationMetrics& metrics) {
  const auto& trace = context.trace;
  double steps = context.plan.accumulation_steps;
  metrics.micro_batches = context.plan.accumulation_steps;
  // The same micro-batches on one GPU without slowdown, which has nobody to wait for. Where ranks share
  // experts one GPU would have them all, whose host's time no rank has.
  auto alone =
      steps * (trace.forward.value_or(Seconds(0)) + trace.backward()) + trace.optimizer.value_or(Seconds(0));
  if (trace.steps.size() > 1) alone = mean_work(trace.steps);
  if (context.shared_model) alone = alone / context.shared_model->of_a_model();
  bool shares_experts = context.shared_model && context.shared_model->expert > 1;
  if (alone > Seconds(0) && !shares_experts) metrics.scaling_efficiency = alone / metrics.iteration;
  if (auto batch = trace.metadata.batch_size) {
    metrics.samples = static_cast<double>(*batch) * metrics.group_size * steps;
    metrics.samples_per_s = *metrics.samples / metrics.iteration.value();
  }
  if (auto sequence = trace.metadata.sequence_length; sequence && metrics.samples_per_s)
    metrics.tokens_per_s = *metrics.samples_per_s * static_cast<double>(*sequence);
}

// By how often each class of workers steps.
void measure_asynchronous(const Timeline& timeline, const IterationContext& context,
                          IterationMetrics& metrics) {
  AsynchronousMetrics all;
  for (const auto& one : timeline.rank_classes) all.updates_per_s += one.ranks / one.duration().value();
  for (const auto& one : timeline.rank_classes) {
    double staleness = all.updates_per_s * one.duration().value() - 1;
    all.mean_staleness += one.ranks / one.duration().value() / all.updates_per_s * staleness;
    all.most_staleness = std::max(all.most_staleness, staleness);
  }
  // What follows of a step's length is that of the slowest, unless it is said of all.
  double of_slowest = metrics.world_size / metrics.iteration.value();
  metrics.group_size = metrics.world_size;
  measure_throughput(context, metrics);
  for (auto* rate : {&metrics.samples_per_s, &metrics.tokens_per_s, &metrics.scaling_efficiency})
    if (*rate) **rate *= all.updates_per_s / of_slowest;
  metrics.asynchronous = all;
}

}  // namespace

Seconds IterationMetrics::lost_to(LossCause cause) const {
  auto loss = std::ranges::find(losses, cause, &Loss::cause);
  return loss == losses.end() ? Seconds() : loss->seconds;
}

Seconds IterationMetrics::communication_cost() const {
  Seconds cost;
  for (const auto& loss : losses)
    if (loss.row().of_communication) cost += loss.seconds;
  return cost;
}

std::string_view fit_word(Fit fit) {
  return fit == Fit::yes ? "fits" : fit == Fit::maybe ? "may not fit" : "does not fit";
}

std::string_view fit_cell(Fit fit) {
  return fit == Fit::yes ? "yes" : fit == Fit::maybe ? "maybe" : "no";
}

std::string fit_line(const MemoryMetrics& memory) {
  double share = memory.parts.peak() / memory.capacity;
  auto how = share > 1 ? fmt::format("{:.2f} times its memory", share)
                       : fmt::format("{:.0f} % of its memory", 100 * share);
  if (memory.fit() == Fit::maybe) how += fmt::format(", and above {:.0f} % it may not", 100 * kFittingShare);
  return fmt::format("{}: {:.1f} GB on {} of {:.0f} GB, {}", fit_word(memory.fit()),
                     memory.parts.peak().value() / 1e9, memory.gpu, memory.capacity.value() / 1e9, how);
}

IterationMetrics measure(const Timeline& timeline, const IterationContext& context) {
  const auto& rank = timeline.last_to_finish();
  DDPSIM_CHECK(!rank.communication.empty() || context.plan.buckets.empty(), "buckets are communicated");
  IterationMetrics metrics;
  metrics.shared_model = context.shared_model;
  metrics.world_size = context.world_size;
  metrics.group_size = rank.group_size;
  metrics.strategy = context.strategy;
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
  measure_compute(rank, context, metrics);
  measure_communication(rank, context, metrics);
  measure_operations(rank, context, metrics);
  metrics.sources_of_times = sources_of_times(metrics.buckets);
  measure_throughput(context, metrics);
  if (context.is_asynchronous) measure_asynchronous(timeline, context, metrics);
  return metrics;
}

}  // namespace ddpsim
