#include "validate/gloo/launched_all_reduce.hpp"

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
  std::vector<Flight> flights;
  for (const auto& one : launched) flights.push_back({one.launch, one.end->load()});
  return times_of(flights, group.getOptions()->threads, start);
}

}  // namespace ddpsim::validate
