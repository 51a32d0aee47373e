#include "validate/gloo/launched_collective.hpp"

#include <algorithm>

#include "sim/base/check.hpp"

namespace ddpsim::validate {
namespace {

std::vector<at::Tensor> parts_of(const at::Tensor& tensor, int ranks) {
  return tensor.chunk(ranks);
}

c10::intrusive_ptr<c10d::Work> start(c10d::ProcessGroupGloo& group, Operation operation, at::Tensor& tensor,
                                     at::Tensor& received) {
  std::vector<at::Tensor> tensors{tensor};
  switch (operation) {
    case Operation::all_reduce:
      return group.allreduce(tensors);
    case Operation::all_gather: {
      std::vector<std::vector<at::Tensor>> all{parts_of(tensor, group.getSize())};
      std::vector<at::Tensor> mine{all.front()[static_cast<std::size_t>(group.getRank())]};
      return group.allgather(all, mine);
    }
    case Operation::reduce_scatter: {
      std::vector<std::int64_t> equal;
      return group.alltoall_base(received, tensor, equal, equal);
    }
    default:
      DDPSIM_CHECK(false, "a collective that a real run has");
      return {};
  }
}

// What every rank sent this one, into its part of the tensor.
void add_up(const at::Tensor& tensor, const at::Tensor& received, int rank, int ranks) {
  auto part = tensor.numel() / ranks;
  auto* sum = tensor.data_ptr<float>() + rank * part;
  const auto* values = received.data_ptr<float>();
  std::copy_n(values, part, sum);
  for (int from = 1; from < ranks; ++from)
    std::transform(sum, sum + part, values + from * part, sum, std::plus<>());
}

}  // namespace

LaunchedCollective launch_collective(c10d::ProcessGroupGloo& group, Operation operation, at::Tensor tensor,
                                     at::Tensor received, const std::function<void()>& ended) {
  LaunchedCollective launched{
      {}, Bytes(static_cast<double>(tensor.nbytes())), now(), std::make_shared<std::atomic<Moment>>(0)};
  launched.work = start(group, operation, tensor, received);
  // Called before whoever waits for the work goes on, and before the next collective of its thread.
  launched.work->getFuture()->addCallback(
      [=, end = launched.end, rank = group.getRank(), ranks = group.getSize()](c10::ivalue::Future& future) {
        if (operation == Operation::reduce_scatter && !future.hasError())
          add_up(tensor, received, rank, ranks);
        end->store(now());
        if (ended) ended();
      });
  return launched;
}

std::vector<CollectiveTimes> times_of(c10d::ProcessGroupGloo& group,
                                      const std::vector<LaunchedCollective>& launched, Moment start) {
  std::vector<CollectiveTimes> times;
  std::vector<Moment> free(static_cast<std::size_t>(group.getOptions()->threads), start);
  for (const auto& one : launched) {
    Moment end = one.end->load();
    DDPSIM_CHECK(end >= one.launch, "a collective that was waited for has ended");
    auto thread = std::min_element(free.begin(), free.end());
    times.push_back(
        {between(start, one.launch), between(start, std::max(one.launch, *thread)), between(start, end)});
    *thread = end;
  }
  return times;
}

}  // namespace ddpsim::validate
