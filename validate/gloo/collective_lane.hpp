#pragma once
// Communication of a rank on threads of its own: collectives one after the other in the order of their
// launch, or as many at once as there are threads.
//
// All-reduces are Gloo's. All-gathers and reduce-scatters are rings of sends and receives: LibTorch 1.13's
// Gloo has no reduce-scatter, and its all-gather and all-to-all send before they are ready to receive. Where
// two ranks share one connection the later one's data then hold up its word that it is ready, and the two
// directions take turns: measured twice as long for an all-to-all, and so for good once ranks are apart.
#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "validate/gloo/host_clock.hpp"
#include "validate/harness/step.hpp"
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

namespace ddpsim::validate {

struct LaunchedCollective {
  Operation operation{};
  at::Tensor tensor;  // works in place; a part for each rank of what is gathered or scattered
  int tag = 0;        // its number in the step
  std::function<void()> ended;
  Moment launch = 0;
  std::atomic<Moment> end = 0;  // when it is done or has failed; the error is set before
  std::exception_ptr error = {};
};

class CollectiveLane {
 public:
  // `start_thread` is called on each of the threads.
  CollectiveLane(c10::intrusive_ptr<c10d::ProcessGroupGloo> group, int threads,
                 const std::function<void()>& start_thread);
  // Waits for what is in flight.
  ~CollectiveLane();
  CollectiveLane(const CollectiveLane&) = delete;
  CollectiveLane& operator=(const CollectiveLane&) = delete;

  // `ended` is called on a thread of the lane, after `end` is set.
  std::shared_ptr<LaunchedCollective> launch(Operation operation, at::Tensor tensor, int tag,
                                             std::function<void()> ended);

 private:
  void run();
  void carry_out(LaunchedCollective& collective, std::unique_lock<std::mutex>& lock);
  void gather(LaunchedCollective& collective);
  void scatter(LaunchedCollective& collective);
  void pass_on(at::Tensor sent, at::Tensor received, int tag);

  c10::intrusive_ptr<c10d::ProcessGroupGloo> group_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<LaunchedCollective>> queue_;
  bool is_over_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace ddpsim::validate
