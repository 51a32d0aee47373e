#pragma once
// When the program of a step launches each bucket, on a rank whose implementation takes no time.
#include <vector>

#include "sim/program/data_parallel.hpp"

namespace ddpsim::testing {

// From the start of the last backward pass; one entry a bucket.
inline std::vector<Seconds> bucket_launch_times(const LayerTrace& trace, const ReductionPlan& plan) {
  std::vector<Seconds> launches(plan.buckets.size());
  auto program = data_parallel_program(trace, plan, {}).program;
  Seconds computed = Seconds(0) - compute_before_last_backward(trace, plan);
  for (const auto& op : program.ops) {
    if (op.kind == Op::Kind::compute) computed += op.duration;
    if (op.activity == Activity::all_reduce) launches[op.index] = computed;
  }
  return launches;
}

}  // namespace ddpsim::testing
