#include "validate/nccl/communicator.hpp"

#include "validate/nccl/deadline.hpp"
#include <fmt/core.h>

#include "sim/base/check.hpp"
#include "sim/base/one_line.hpp"
#include "sim/base/program_exit.hpp"
#include "sim/base/quantity.hpp"

namespace ddpsim::validate {
namespace {

// "unhandled system error: Call to connect failed": NCCL's word for the result, and the last thing that it
// met.
std::string describe(ncclResult_t result, ncclComm_t communicator) {
  const char* last = ncclGetLastError(communicator);
  auto detail = one_line(last == nullptr ? "" : last);
  return fmt::format("{}{}{}", ncclGetErrorString(result), detail.empty() ? "" : ": ", detail);
}

}  // namespace

void require(int rank, ncclResult_t result, std::string_view call) {
  if (result != ncclSuccess)
    throw RunFailed(fmt::format("rank {}: {}: {}", rank, call, describe(result, nullptr)));
}

Communicator::Communicator(int rank, int world_size, const ncclUniqueId& id, Seconds timeout)
    : rank_(rank), world_size_(world_size), timeout_(timeout) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  settle("ncclCommInitRankConfig", ncclCommInitRankConfig(&communicator_, world_size, id, rank, &config));
}

Communicator::~Communicator() {
  if (communicator_ == nullptr) return;
  try {
    settle("ncclCommFinalize", ncclCommFinalize(communicator_));
    ncclCommDestroy(communicator_);
  } catch (const RunFailed&) {
    // The run itself is over: it is aborted, and there is nothing left to tell.
  }
}

void Communicator::all_reduce(void* data, std::size_t count, ncclDataType_t type, ncclRedOp_t operation,
                              cudaStream_t stream) {
  settle("ncclAllReduce", ncclAllReduce(data, data, count, type, operation, communicator_, stream));
}

void Communicator::all_gather(float* data, std::size_t count, cudaStream_t stream) {
  auto part = count / static_cast<std::size_t>(world_size_);
  settle("ncclAllGather", ncclAllGather(data + static_cast<std::size_t>(rank_) * part, data, part, ncclFloat,
                                        communicator_, stream));
}

void Communicator::reduce_scatter(float* data, std::size_t count, cudaStream_t stream) {
  auto part = count / static_cast<std::size_t>(world_size_);
  settle("ncclReduceScatter", ncclReduceScatter(data, data + static_cast<std::size_t>(rank_) * part, part,
                                                ncclFloat, ncclSum, communicator_, stream));
}

void Communicator::broadcast(void* data, std::size_t count, ncclDataType_t type, cudaStream_t stream) {
  settle("ncclBroadcast", ncclBroadcast(data, data, count, type, 0, communicator_, stream));
}

void Communicator::check(std::string_view doing) {
  DDPSIM_CHECK(communicator_ != nullptr, "an aborted communicator is not used");
  auto state = ncclSuccess;
  auto result = ncclCommGetAsyncError(communicator_, &state);
  if (result == ncclSuccess) result = state;
  if (result != ncclSuccess && result != ncclInProgress)
    fail(fmt::format("{} (ncclCommGetAsyncError)", doing), result);
}

// A call on a communicator that does not block may go on behind it; only when it has ended can what follows
// be enqueued (NCCL's user guide, "Fault Tolerance").
void Communicator::settle(std::string_view call, ncclResult_t result) {
  Deadline deadline(timeout_);
  for (Pause pause; result == ncclInProgress; pause.once()) {
    if (deadline.passed()) fail(fmt::format("{} did not end within {}", call, format_seconds(timeout_)));
    auto state = ncclSuccess;
    result = ncclCommGetAsyncError(communicator_, &state);
    if (result == ncclSuccess) result = state;
  }
  if (result != ncclSuccess) fail(call, result);
}

void Communicator::fail(std::string_view call, ncclResult_t result) {
  fail(fmt::format("{}: {}", call, describe(result, communicator_)));
}

void Communicator::fail(const std::string& message) {
  abort();
  throw RunFailed(fmt::format("rank {}: {}", rank_, message));
}

void Communicator::abort() {
  if (communicator_ != nullptr) ncclCommAbort(communicator_);
  communicator_ = nullptr;
}

}  // namespace ddpsim::validate
