#pragma once
// NCCL's communicator of one rank, that never blocks this thread longer than a time-out.
#include <cstddef>
#include <string>
#include <string_view>

#include <nccl.h>

#include "sim/base/units.hpp"

namespace ddpsim::validate {

// Every call throws RunFailed, naming the rank and what went wrong, and aborts the communicator before.
class Communicator {
 public:
  // Returns when all ranks have joined.
  Communicator(int rank, int world_size, const ncclUniqueId& id, Seconds timeout);
  // Ends it together with the other ranks; aborts it when they do not come.
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  // In place. Each returns when the collective is in the stream.
  void all_reduce(void* data, std::size_t count, ncclDataType_t type, ncclRedOp_t operation,
                  cudaStream_t stream);
  // Of float32, each rank's part in place.
  void all_gather(float* data, std::size_t count, cudaStream_t stream);
  void reduce_scatter(float* data, std::size_t count, cudaStream_t stream);
  void broadcast(void* data, std::size_t count, ncclDataType_t type, cudaStream_t stream);  // rank 0's

  // Whether NCCL has met an error since, for instance a rank that is gone. `doing` is for the message.
  void check(std::string_view doing);
  // "rank 1: MESSAGE"
  [[noreturn]] void fail(const std::string& message);
  void abort();

 private:
  void settle(std::string_view call, ncclResult_t result);
  [[noreturn]] void fail(std::string_view call, ncclResult_t result);

  int rank_, world_size_;
  Seconds timeout_;
  ncclComm_t communicator_ = nullptr;  // null once it is aborted
};

// Throws RunFailed unless the call, which is none of a communicator, went well.
void require(int rank, ncclResult_t result, std::string_view call);

}  // namespace ddpsim::validate
