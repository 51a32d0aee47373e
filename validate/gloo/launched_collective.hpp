#pragma once
// Collectives in flight on a process group of Gloo's, and when they were.
#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "validate/gloo/host_clock.hpp"
#include "validate/harness/step.hpp"
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

namespace ddpsim::validate {

struct LaunchedCollective {
  c10::intrusive_ptr<c10d::Work> work;
  Bytes bytes;
  Moment launch = 0;
  std::shared_ptr<std::atomic<Moment>> end;  // set on Gloo's thread when it is done or has failed
};

// Each works in place on the tensor, of which all-gathers and reduce-scatters have a part for each rank.
// `ended` is called on Gloo's thread after `end` is set. LibTorch 1.13 has no reduce-scatter for Gloo: an
// all-to-all into `received`, which is as large as the tensor, and then each rank adds up its parts on Gloo's
// thread.
LaunchedCollective launch_collective(c10d::ProcessGroupGloo& group, Operation operation, at::Tensor tensor,
                                     at::Tensor received = {}, const std::function<void()>& ended = {});
inline LaunchedCollective launch_all_reduce(c10d::ProcessGroupGloo& group, at::Tensor tensor) {
  return launch_collective(group, Operation::all_reduce, std::move(tensor));
}

// Of collectives that have ended: each started once it was launched and one of the group's threads was free.
std::vector<CollectiveTimes> times_of(c10d::ProcessGroupGloo& group,
                                      const std::vector<LaunchedCollective>& launched, Moment start);

}  // namespace ddpsim::validate
