#include "validate/gloo/collective_lane.hpp"

#include <algorithm>
#include <utility>

#include "validate/harness/real_operations.hpp"

#include "sim/base/check.hpp"

namespace ddpsim::validate {
namespace {

// Of so many parts that one, which lies in the tensor.
at::Tensor part_of(const at::Tensor& tensor, int part, int parts) {
  auto each = tensor.numel() / parts;
  return tensor.narrow(0, (part + parts) % parts * each, each);
}

}  // namespace

CollectiveLane::CollectiveLane(c10::intrusive_ptr<c10d::ProcessGroupGloo> group, int threads,
                               const std::function<void()>& start_thread)
    : group_(std::move(group)) {
  for (int i = 0; i < threads; ++i)
    threads_.emplace_back([this, start_thread] {
      start_thread();
      run();
    });
}

CollectiveLane::~CollectiveLane() {
  {
    std::lock_guard lock(mutex_);
    is_over_ = true;
    queue_.clear();
  }
  changed_.notify_all();
  for (auto& thread : threads_) thread.join();
}

std::shared_ptr<LaunchedCollective> CollectiveLane::launch(Operation operation, at::Tensor tensor, int tag,
                                                           std::function<void()> ended) {
  auto collective = std::make_shared<LaunchedCollective>();
  collective->operation = operation;
  collective->tensor = std::move(tensor);
  collective->tag = tag;
  collective->ended = std::move(ended);
  collective->launch = now();
  {
    std::lock_guard lock(mutex_);
    queue_.push_back(collective);
  }
  changed_.notify_one();
  return collective;
}

void CollectiveLane::run() {
  for (std::unique_lock lock(mutex_);;) {
    changed_.wait(lock, [this] { return is_over_ || !queue_.empty(); });
    if (is_over_) return;
    auto collective = queue_.front();
    queue_.pop_front();
    try {
      carry_out(*collective, lock);
    } catch (...) {
      collective->error = std::current_exception();
    }
    collective->end = now();
    collective->ended();
    if (!lock.owns_lock()) lock.lock();
  }
}

// All-reduces are launched in the order of the queue, as on the other ranks.
void CollectiveLane::carry_out(LaunchedCollective& collective, std::unique_lock<std::mutex>& lock) {
  if (collective.operation == Operation::all_reduce) {
    std::vector<at::Tensor> tensors{collective.tensor};
    auto work = group_->allreduce(tensors);
    lock.unlock();
    work->wait();
    return;
  }
  lock.unlock();
  DDPSIM_CHECK(is_real(collective.operation), "a collective that a real run has");
  if (collective.operation == Operation::all_gather) return gather(collective);
  scatter(collective);
}

// n - 1 steps: a part goes to the next rank, and the one before it comes from the rank before.
void CollectiveLane::gather(LaunchedCollective& collective) {
  int rank = group_->getRank(), ranks = group_->getSize();
  for (int step = 0; step + 1 < ranks; ++step)
    pass_on(part_of(collective.tensor, rank - step, ranks),
            part_of(collective.tensor, rank - step - 1, ranks), collective.tag);
}

// Likewise of sums, to which each rank adds its own part; the last is the rank's.
void CollectiveLane::scatter(LaunchedCollective& collective) {
  int rank = group_->getRank(), ranks = group_->getSize();
  auto received = at::empty({collective.tensor.numel() / ranks}, collective.tensor.options());
  for (int step = 0; step + 1 < ranks; ++step) {
    pass_on(part_of(collective.tensor, rank - step - 1, ranks), received, collective.tag);
    auto sum = part_of(collective.tensor, rank - step - 2, ranks);
    auto* values = sum.data_ptr<float>();
    std::transform(values, values + sum.numel(), received.data_ptr<float>(), values, std::plus<>());
  }
}

void CollectiveLane::pass_on(at::Tensor sent, at::Tensor received, int tag) {
  int rank = group_->getRank(), ranks = group_->getSize();
  std::vector<at::Tensor> to{std::move(sent)}, from{std::move(received)};
  auto receiving = group_->recv(from, (rank + ranks - 1) % ranks, tag);
  auto sending = group_->send(to, (rank + 1) % ranks, tag);
  receiving->wait();
  sending->wait();
}

}  // namespace ddpsim::validate
