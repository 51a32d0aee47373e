#pragma once
// What a rank's compute lane does in one iteration, step by step.
#include <cstddef>
#include <vector>

#include "sim/engine/iteration.hpp"

namespace ddpsim {

struct ComputeStep {
  enum class Kind {
    work,    // `duration` of `activity`, on a rank without slowdown and with nothing beside it
    ready,   // all gradients of bucket `index` are there
    launch,  // of request `index`
    wait,    // until request `index` has ended
  };
  Kind kind = Kind::work;
  Activity activity = Activity::backward;
  std::size_t index = 0;
  Seconds duration;
};

// From the first forward pass to the optimizer. `requests` are those of collective_requests(), of which only
// the order counts here. Copies and launches are where PyTorch's reducer has them: a gradient's hook and its
// copy into the bucket as it arrives (reducer.cpp, autograd_hook and mark_variable_ready_dense), the copy out
// of a bucket once its collective was waited for, bucket by bucket (finalize_backward). A flat buffer is
// filled after backward.
std::vector<ComputeStep> compute_program(const Scenario& scenario,
                                         const std::vector<CollectiveRequest>& requests);

}  // namespace ddpsim
