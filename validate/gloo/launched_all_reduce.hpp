#pragma once
// All-reduces in flight on a process group of Gloo's, and when they were.
#include <atomic>
#include <memory>
#include <vector>

#include "validate/gloo/flight_times.hpp"
#include "validate/harness/step.hpp"
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

namespace ddpsim::validate {

struct LaunchedAllReduce {
  c10::intrusive_ptr<c10d::Work> work;
  Bytes bytes;
  Moment launch = 0;
  std::shared_ptr<std::atomic<Moment>> end;  // set on Gloo's thread when it is done
};

// Sums the tensor over the ranks, in place.
LaunchedAllReduce launch_all_reduce(c10d::ProcessGroupGloo& group, at::Tensor tensor);

std::vector<CollectiveTimes> times_of(c10d::ProcessGroupGloo& group,
                                      const std::vector<LaunchedAllReduce>& launched, Moment start);

}  // namespace ddpsim::validate
