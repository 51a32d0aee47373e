#include "validate/gloo/launched_all_reduce.hpp"

#include <algorithm>

#include "sim/base/check.hpp"

namespace ddpsim::validate {

LaunchedAllReduce launch_all_reduce(c10d::ProcessGroupGloo& group, at::Tensor tensor) {
  LaunchedAllReduce launched{
      {}, Bytes(static_cast<double>(tensor.nbytes())), now(), std::make_shared<std::atomic<Moment>>(0)};
  std::vector<at::Tensor> tensors{std::move(tensor)};
  launched.work = group.allreduce(tensors);
  // Called before whoever waits for the work goes on.
  launched.work->getFuture()->addCallback([end = launched.end](c10::ivalue::Future&) { end->store(now()); });
  return launched;
}

std::vector<CollectiveTimes> times_of(const std::vector<LaunchedAllReduce>& launched, Moment start) {
  std::vector<CollectiveTimes> times;
  Moment free = start;
  for (const auto& one : launched) {
    Moment end = one.end->load();
    DDPSIM_CHECK(end >= one.launch, "an all-reduce that was waited for has ended");
    times.push_back(
        {between(start, one.launch), between(start, std::max(one.launch, free)), between(start, end)});
    free = end;
  }
  return times;
}

}  // namespace ddpsim::validate
