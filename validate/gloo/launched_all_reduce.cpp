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

std::vector<CollectiveTimes> times_of(c10d::ProcessGroupGloo& group,
                                      const std::vector<LaunchedAllReduce>& launched, Moment start) {
  std::vector<CollectiveTimes> times;
  std::vector<Moment> free(static_cast<std::size_t>(group.getOptions()->threads), start);
  for (const auto& one : launched) {
    Moment end = one.end->load();
    DDPSIM_CHECK(end >= one.launch, "an all-reduce that was waited for has ended");
    auto thread = std::min_element(free.begin(), free.end());
    times.push_back(
        {between(start, one.launch), between(start, std::max(one.launch, *thread)), between(start, end)});
    *thread = end;
  }
  return times;
}

}  // namespace ddpsim::validate
