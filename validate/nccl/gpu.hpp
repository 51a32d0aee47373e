#pragma once
// CUDA's handles as objects, and which GPU is whose. Failures are RunFailed that name the rank and the call.
#include <memory>
#include <string_view>

#include "validate/harness/rank_program.hpp"
#include <cuda_runtime_api.h>

namespace ddpsim::validate {

// Throws RunFailed unless the call went well.
void require(int rank, cudaError_t result, std::string_view call);

struct CudaDeleter {
  void operator()(cudaStream_t stream) const { cudaStreamDestroy(stream); }
  void operator()(cudaEvent_t event) const { cudaEventDestroy(event); }
  void operator()(void* memory) const { cudaFree(memory); }
};
using Stream = std::unique_ptr<CUstream_st, CudaDeleter>;
using Event = std::unique_ptr<CUevent_st, CudaDeleter>;  // with a time
using DeviceMemory = std::unique_ptr<void, CudaDeleter>;

enum class Priority { normal, high };

// Streams wait for nothing that they are not told to wait for, the default stream included.
Stream make_stream(int rank, Priority priority);
Event make_event(int rank);
DeviceMemory allocate(int rank, std::size_t bytes);

// Whether the environment asks for all ranks on GPU 0 (DDPSIM_SHARE_GPU=1). Throws InputError for any other
// value.
bool share_gpu();

// The GPU of a rank: the one of its local rank; the only one where CUDA_VISIBLE_DEVICES shows this process
// one alone, as Slurm does; 0 where all share it. Throws BackendMissing that says what was looked for.
int choose_gpu(const RankPlace& place);

}  // namespace ddpsim::validate
