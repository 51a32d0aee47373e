// CUDA's runtime, NCCL, and the busy kernel, for the linker.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "validate/harness/virtual_device.hpp"
#include "validate/nccl/busy_kernel.hpp"
#include <fmt/core.h>

#include "tests/validate/nccl/fake_gpu.hpp"

using ddpsim::testing::CollectiveCall;
using ddpsim::testing::FakeGpu;
using ddpsim::testing::Moment;
using ddpsim::testing::Operation;

namespace {

FakeGpu& gpu() {
  return FakeGpu::get();
}

thread_local int current_device = 0;

// Every entry point takes the lock, is counted, and fails when a test says so.
#define ENTER(type)                  \
  std::lock_guard lock(gpu().mutex); \
  if (int code = gpu().enter(__func__); code != 0) return static_cast<type>(code)

template <class Handle>
Handle* keep(Handle* handle, const char* what) {
  gpu().handles[handle] = what;
  return handle;
}

template <class Handle>
void drop(Handle* handle) {
  if (gpu().handles.erase(handle) == 0) gpu().violate("given back twice");
  delete handle;
}

// A call that would block until this stream is empty, with no time-out.
void needs_idle(CUstream_st* stream, const std::string& call) {
  gpu().progress();
  if (!stream->queue.empty()) gpu().violate(call + " would block");
  gpu().host_time() = std::max(gpu().host_time(), stream->time);
}

// What NCCL does with a call: now, or while it is asked how far it is.
ncclResult_t answer(ncclComm* communicator, std::function<void()> work) {
  if (communicator->then) gpu().violate("a call before the one before has ended");
  if (!gpu().deferred) {
    work();
    return ncclSuccess;
  }
  communicator->then = std::move(work);
  communicator->polls_left = 3;
  return ncclInProgress;
}

ncclResult_t collective(ncclComm* communicator, cudaStream_t stream, const CollectiveCall& call) {
  Operation operation;
  operation.communicator = communicator;
  operation.call = call;
  return answer(communicator,
                [=] { gpu().enqueue(stream, operation, fmt::format("{} of {}", call.kind, call.count)); });
}

void leave(ncclComm* communicator) {
  for (auto* stream : gpu().streams)
    std::erase_if(stream->queue, [&](const Operation& one) { return one.communicator == communicator; });
  std::erase(communicator->group->members, communicator);
  gpu().progress();
  drop(communicator);
}

}  // namespace

namespace ddpsim::validate {

cudaError_t launch_busy_kernel(std::uint64_t nanoseconds, int blocks, cudaStream_t stream) {
  ENTER(cudaError_t);
  if (blocks != 132) gpu().violate("not a block for each multiprocessor");
  Operation kernel;
  kernel.duration = 1e-9 * static_cast<double>(nanoseconds);
  gpu().enqueue(stream, kernel, fmt::format("busy for {} ns", nanoseconds));
  return cudaSuccess;
}

}  // namespace ddpsim::validate

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  ENTER(cudaError_t);
  *count = gpu().devices;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  ENTER(cudaError_t);
  current_device = device;
  return device < gpu().devices ? cudaSuccess : cudaErrorInvalidDevice;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  ENTER(cudaError_t);
  *properties = {};
  ddpsim::validate::kVirtualDevice.copy(properties->name, sizeof properties->name - 1);
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  ENTER(cudaError_t);
  *value = attribute == cudaDevAttrMultiProcessorCount ? 132
           : attribute == cudaDevAttrClockRate         ? 1980000
                                                       : 0;
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  ENTER(cudaError_t);
  *version = 13010;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  ENTER(cudaError_t);
  *version = 13000;
  return cudaSuccess;
}

const char* cudaGetErrorName(cudaError_t) {
  return "cudaErrorOfTheTest";
}
const char* cudaGetErrorString(cudaError_t) {
  return "an error of the test";
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  ENTER(cudaError_t);
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  ENTER(cudaError_t);
  if (flags != cudaStreamNonBlocking) gpu().violate("a stream that waits for the default stream");
  *stream = keep(new CUstream_st{priority == -5 ? "communication" : "compute", {}, 0}, "stream");
  gpu().streams.push_back(*stream);
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  ENTER(cudaError_t);
  std::erase(gpu().streams, stream);
  drop(stream);
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  ENTER(cudaError_t);
  Operation wait;
  wait.waits_for = event->last;
  gpu().enqueue(stream, wait, event->last ? "wait" : "wait for an event that was never recorded");
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  ENTER(cudaError_t);
  if (flags != cudaEventDefault) gpu().violate("an event without a time");
  *event = keep(new CUevent_st, "event");
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  ENTER(cudaError_t);
  drop(event);
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  ENTER(cudaError_t);
  event->last = std::make_shared<Moment>();
  Operation record;
  record.marks = event->last;
  gpu().enqueue(stream, record, "record");
  return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  ENTER(cudaError_t);
  gpu().progress();
  if (!event->last) return cudaSuccess;
  if (!event->last->happened) return cudaErrorNotReady;
  gpu().host_time() = std::max(gpu().host_time(), event->last->time);
  return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  ENTER(cudaError_t);
  if (!start->last || !end->last) return cudaErrorInvalidResourceHandle;
  // The host must have seen that it has happened, or something later.
  if (!start->last->happened || !end->last->happened || end->last->time > gpu().host_time())
    return cudaErrorNotReady;
  *milliseconds = static_cast<float>(1e3 * (end->last->time - start->last->time));
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  ENTER(cudaError_t);
  *memory = std::malloc(bytes);
  std::memset(*memory, 0x7f, bytes);
  gpu().handles[*memory] = "memory";
  return cudaSuccess;
}

cudaError_t cudaFree(void* memory) {
  ENTER(cudaError_t);
  if (gpu().handles.erase(memory) == 0) gpu().violate("memory given back twice");
  std::free(memory);
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t stream) {
  ENTER(cudaError_t);
  Operation set;
  set.work = [=] { std::memset(memory, value, bytes); };
  gpu().enqueue(stream, set, "set");
  return cudaSuccess;
}

// From and to memory that is not pinned.
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                            cudaStream_t stream) {
  ENTER(cudaError_t);
  needs_idle(stream, "cudaMemcpyAsync");
  if (bytes > 0) std::memcpy(to, from, bytes);
  return cudaSuccess;
}

ncclResult_t ncclGetVersion(int* version) {
  ENTER(ncclResult_t);
  *version = 22809;
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t) {
  return "an error of NCCL";
}
const char* ncclGetLastError(ncclComm_t) {
  return "the last thing it met";
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  ENTER(ncclResult_t);
  auto number = gpu().groups.size();
  gpu().groups.push_back(std::make_shared<ncclComm::Group>());
  std::memcpy(id->internal, &number, sizeof number);
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* communicator, int n_ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  ENTER(ncclResult_t);
  if (config->blocking != 0) gpu().violate("a communicator that blocks");
  std::size_t number = 0;
  std::memcpy(&number, id.internal, sizeof number);
  auto group = gpu().groups.at(number);
  group->size = static_cast<std::size_t>(n_ranks);
  *communicator = keep(new ncclComm, "communicator");
  (*communicator)->group = group;
  (*communicator)->rank = rank;
  group->members.push_back(*communicator);
  std::sort(group->members.begin(), group->members.end(), [](auto* a, auto* b) { return a->rank < b->rank; });
  ++group->joined;
  return ncclInProgress;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t communicator, ncclResult_t* error) {
  ENTER(ncclResult_t);
  auto& group = *communicator->group;
  if (communicator->then && --communicator->polls_left == 0) {
    auto then = std::move(communicator->then);
    communicator->then = nullptr;
    then();
  }
  bool busy = communicator->then || group.joined < group.size ||
              (communicator->finalizing && group.finalized < group.size);
  *error = gpu().async_error != ncclSuccess ? gpu().async_error : busy ? ncclInProgress : ncclSuccess;
  return ncclSuccess;
}

ncclResult_t ncclAllReduce(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           ncclRedOp_t operation, ncclComm_t communicator, cudaStream_t stream) {
  ENTER(ncclResult_t);
  if (from != to) gpu().violate("not in place");
  return collective(communicator, stream, {"all-reduce", to, count, type, operation});
}

// In place: each rank's part of the whole buffer.
ncclResult_t ncclAllGather(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           ncclComm_t communicator, cudaStream_t stream) {
  ENTER(ncclResult_t);
  auto rank = static_cast<std::size_t>(communicator->rank);
  if (from != static_cast<float*>(to) + rank * count || type != ncclFloat)
    gpu().violate("not in place, or no floats");
  return collective(communicator, stream,
                    {"all-gather", to, count * communicator->group->size, type, ncclSum});
}

ncclResult_t ncclReduceScatter(const void* from, void* to, std::size_t count, ncclDataType_t type,
                               ncclRedOp_t operation, ncclComm_t communicator, cudaStream_t stream) {
  ENTER(ncclResult_t);
  auto rank = static_cast<std::size_t>(communicator->rank);
  auto* all = const_cast<float*>(static_cast<const float*>(from));
  if (to != all + rank * count || type != ncclFloat) gpu().violate("not in place, or no floats");
  return collective(communicator, stream,
                    {"reduce-scatter", all, count * communicator->group->size, type, operation});
}

ncclResult_t ncclBroadcast(const void* from, void* to, std::size_t count, ncclDataType_t type, int root,
                           ncclComm_t communicator, cudaStream_t stream) {
  ENTER(ncclResult_t);
  if (from != to || type != ncclFloat) gpu().violate("not in place, or no floats");
  return collective(communicator, stream, {"broadcast", to, count, type, ncclSum, root});
}

ncclResult_t ncclCommFinalize(ncclComm_t communicator) {
  ENTER(ncclResult_t);
  communicator->finalizing = true;
  ++communicator->group->finalized;
  return ncclInProgress;
}

ncclResult_t ncclCommDestroy(ncclComm_t communicator) {
  ENTER(ncclResult_t);
  if (!communicator->finalizing || communicator->group->finalized < communicator->group->size)
    gpu().violate("destroyed before all ranks were done");
  leave(communicator);
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t communicator) {
  ENTER(ncclResult_t);
  leave(communicator);
  return ncclSuccess;
}

}  // extern "C"
