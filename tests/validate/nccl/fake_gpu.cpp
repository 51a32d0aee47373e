#include "tests/validate/nccl/fake_gpu.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/core.h>

namespace ddpsim::testing {
namespace {

template <class Value>
void reduce(const std::vector<Operation*>& all) {
  for (std::size_t i = 0; i < all.front()->call.count; ++i) {
    auto element = [&](const Operation* one) -> Value& { return static_cast<Value*>(one->call.data)[i]; };
    Value result = element(all.front());
    for (auto one = all.begin() + 1; one != all.end(); ++one)
      result =
          all.front()->call.operation == ncclMax ? std::max(result, element(*one)) : result + element(*one);
    for (auto* one : all) element(one) = result;
  }
}

// Each rank has a part of what is gathered or scattered.
void exchange_parts(const std::vector<Operation*>& all) {
  const auto& call = all.front()->call;
  auto part = call.count / all.size();
  for (std::size_t i = 0; i < call.count; ++i) {
    auto* owner = all[i / part];
    auto element = [&](const Operation* one) -> float& { return static_cast<float*>(one->call.data)[i]; };
    float result = element(owner);
    if (call.kind == "all-gather") {
      for (auto* one : all) element(one) = result;
      continue;
    }
    for (const auto* one : all)
      if (one != owner) result += element(one);
    element(owner) = result;
  }
}

// `all` in the order of ranks.
void carry_out(const std::vector<Operation*>& all) {
  const auto& call = all.front()->call;
  if (call.kind == "broadcast") {
    for (auto* one : all)
      if (one->call.data != all[static_cast<std::size_t>(call.root)]->call.data)
        std::memcpy(one->call.data, all[static_cast<std::size_t>(call.root)]->call.data,
                    call.count * sizeof(float));
  } else if (call.kind != "all-reduce") {
    exchange_parts(all);
  } else if (call.type == ncclDouble) {
    reduce<double>(all);
  } else {
    reduce<float>(all);
  }
}

bool alike(const CollectiveCall& a, const CollectiveCall& b) {
  return a.kind == b.kind && a.count == b.count && a.type == b.type && a.operation == b.operation &&
         a.root == b.root;
}

}  // namespace

FakeGpu& FakeGpu::get() {
  static FakeGpu gpu;
  return gpu;
}

void FakeGpu::fail(const std::string& entry_point, int code, int after) {
  std::lock_guard lock(mutex);
  failures_[entry_point] = {after, code};
}

void FakeGpu::report_async_error(ncclResult_t error) {
  std::lock_guard lock(mutex);
  async_error = error;
}

int FakeGpu::enter(const std::string& entry_point) {
  ++calls_[entry_point];
  auto failure = failures_.find(entry_point);
  if (failure == failures_.end()) return 0;
  if (failure->second.first-- > 0) return 0;
  int code = failure->second.second;
  failures_.erase(failure);
  return code;
}

std::vector<std::string> FakeGpu::log() {
  std::lock_guard lock(mutex);
  return log_;
}

void FakeGpu::clear_log() {
  std::lock_guard lock(mutex);
  log_.clear();
}

int FakeGpu::calls(const std::string& entry_point) {
  std::lock_guard lock(mutex);
  return calls_[entry_point];
}

std::size_t FakeGpu::alive() {
  std::lock_guard lock(mutex);
  return handles.size();
}

std::vector<std::string> FakeGpu::violations() {
  std::lock_guard lock(mutex);
  return violations_;
}

void FakeGpu::enqueue(CUstream_st* stream, Operation operation, const std::string& entry) {
  operation.enqueued = host_time();
  stream->queue.push_back(std::move(operation));
  log_.push_back(stream->name + ": " + entry);
  progress();
}

void FakeGpu::progress() {
  for (bool moved = true; moved;) {
    moved = false;
    for (auto* stream : streams)
      while (!stream->queue.empty() &&
             (stream->queue.front().communicator ? start_collective(*stream) : start_first(*stream)))
        moved = true;
  }
}

bool FakeGpu::start_first(CUstream_st& stream) {
  auto& first = stream.queue.front();
  if (first.waits_for && !first.waits_for->happened) return false;
  stream.time = std::max(stream.time, first.enqueued);
  if (first.waits_for) stream.time = std::max(stream.time, first.waits_for->time);
  stream.time += first.duration;
  if (first.work) first.work();
  if (first.marks) *first.marks = {true, stream.time};
  stream.queue.erase(stream.queue.begin());
  return true;
}

bool FakeGpu::start_collective(CUstream_st& stream) {
  auto& group = *stream.queue.front().communicator->group;
  std::vector<Operation*> all;
  std::vector<CUstream_st*> where;
  for (auto* member : group.members)
    for (auto* other : streams)
      if (!other->queue.empty() && other->queue.front().communicator == member) {
        all.push_back(&other->queue.front());
        where.push_back(other);
      }
  if (all.size() < group.size) return false;
  if (all.size() > group.size) violate("two collectives of a communicator run at once");
  double start = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    start = std::max({start, where[i]->time, all[i]->enqueued});
    if (!alike(all[i]->call, all.front()->call)) violate("ranks disagree on a collective");
  }
  carry_out(all);
  double end = start + collective_seconds(all.front()->call.count);
  for (auto* one : where) {
    one->time = end;
    one->queue.erase(one->queue.begin());
  }
  return true;
}

}  // namespace ddpsim::testing
