#pragma once
// Two gradients of 1000 B and 2000 B, one bucket each, on 4 ranks: every number of it can be checked by hand.
#include <string>

#include "sim/result/metrics.hpp"
#include "sim/result/sweep_result.hpp"

namespace ddpsim::test {

// forward 1 s, backward 2 s (ready after 1 s and 2 s), optimizer 0.5 s, 4 samples a GPU.
inline LayerTrace two_gradients() {
  LayerTrace trace;
  trace.metadata.batch_size = 4;
  trace.forward = Seconds(1);
  trace.optimizer = Seconds(0.5);
  trace.gradients.push_back({"b", 250, DType::float32, Seconds(1), {}});
  trace.gradients.push_back({"a", 500, DType::float32, Seconds(2), {}});
  trace.registration_order = {1, 0};
  return trace;
}

inline ReductionPlan two_buckets() {
  auto plan = make_reduction_plan(two_gradients(), Reducer::overlap, {});  // a bucket each
  plan.reducer = Reducer::ddp;
  plan.bucket_cap = Bytes(1024);
  return plan;
}

inline Span all_reduce(std::size_t bucket, double start, double end) {
  return {Activity::all_reduce, bucket,     Seconds(start),
          Seconds(end),         Seconds(0), Bytes(bucket == 0 ? 1000 : 2000)};
}

// forward [0, 1], backward [1, 3]; bucket 0 is ready at 2 and takes 1 s, bucket 1 is ready at 3 and takes 2
// s, for which the rank waits; optimizer [5, 5.5].
inline RankTimeline plain_rank() {
  RankTimeline rank;
  rank.ranks = 4;
  rank.group_size = 4;
  rank.communicators = {0};
  rank.backward_start = Seconds(1);
  rank.compute = {{Activity::forward, 0, Seconds(0), Seconds(1)},
                  {Activity::backward, 0, Seconds(1), Seconds(3)},
                  {Activity::wait, 0, Seconds(3), Seconds(5)},
                  {Activity::optimizer, 0, Seconds(5), Seconds(5.5)}};
  rank.communication = {all_reduce(0, 2, 3), all_reduce(1, 3, 5)};
  rank.bucket_ready = {Seconds(2), Seconds(3)};
  return rank;
}

// Rank 3 computes half as fast again: forward [0, 1.5], backward [1.5, 4.5], ready at 3 and 4.5. The other
// ranks launch earlier and wait for it.
inline Timeline with_straggler() {
  auto fast = plain_rank();
  fast.ranks = 3;
  fast.group_size = 4;
  fast.communication = {all_reduce(0, 3, 4), all_reduce(1, 4.5, 6.5)};
  fast.compute[2].end = Seconds(6.5);
  fast.compute[3] = {Activity::optimizer, 0, Seconds(6.5), Seconds(7)};
  RankTimeline slow;
  slow.group_size = 4;
  slow.communicators = {0};
  slow.ranks = 1;
  slow.rank = 3;
  slow.slowdown = 1.5;
  slow.backward_start = Seconds(1.5);
  slow.compute = {{Activity::forward, 0, Seconds(0), Seconds(1.5)},
                  {Activity::backward, 0, Seconds(1.5), Seconds(4.5)},
                  {Activity::wait, 0, Seconds(4.5), Seconds(6.5)},
                  {Activity::optimizer, 0, Seconds(6.5), Seconds(7.25)}};
  slow.communication = fast.communication;
  slow.bucket_ready = {Seconds(3), Seconds(4.5)};
  return {{fast, slow}};
}

inline IterationMetrics measure_small(const Timeline& timeline, const ReductionPlan& plan = two_buckets()) {
  auto trace = two_gradients();
  auto metrics = measure(timeline, {trace, plan, 4, "ring", "exact"});
  metrics.network = "simgrid";
  metrics.simulated_flows = 7;
  return metrics;
}

// A point with these axis values, this cap and this iteration; everything else from the plain rank.
inline SweepPoint point(std::vector<std::string> axis_values, std::optional<double> cap, double iteration) {
  auto metrics = measure_small({{plain_rank()}});
  metrics.bucket_cap = cap ? std::optional(Bytes(*cap)) : std::nullopt;
  if (!cap) metrics.strategy = find_strategy("naive");
  metrics.exposed_communication = Seconds(iteration - 3.5);
  metrics.iteration = Seconds(iteration);
  return {std::move(axis_values), metrics, {}};
}

}  // namespace ddpsim::test
