#include "validate/nccl/gpu.hpp"

#include <cstdlib>
#include <string>

#include <fmt/core.h>

#include "sim/base/backend_missing.hpp"
#include "sim/base/program_exit.hpp"
#include "sim/base/source.hpp"

namespace ddpsim::validate {

void require(int rank, cudaError_t result, std::string_view call) {
  if (result == cudaSuccess) return;
  throw RunFailed(
      fmt::format("rank {}: {}: {} ({})", rank, call, cudaGetErrorString(result), cudaGetErrorName(result)));
}

Stream make_stream(int rank, Priority priority) {
  int lowest = 0, highest = 0;
  require(rank, cudaDeviceGetStreamPriorityRange(&lowest, &highest), "cudaDeviceGetStreamPriorityRange");
  cudaStream_t stream = nullptr;
  require(rank,
          cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking,
                                       priority == Priority::high ? highest : lowest),
          "cudaStreamCreateWithPriority");
  return Stream(stream);
}

Event make_event(int rank) {
  cudaEvent_t event = nullptr;
  require(rank, cudaEventCreateWithFlags(&event, cudaEventDefault), "cudaEventCreateWithFlags");
  return Event(event);
}

DeviceMemory allocate(int rank, std::size_t bytes) {
  void* memory = nullptr;
  require(rank, cudaMalloc(&memory, bytes), fmt::format("cudaMalloc of {} bytes", bytes));
  return DeviceMemory(memory);
}

bool share_gpu() {
  const char* value = std::getenv("DDPSIM_SHARE_GPU");
  if (value == nullptr) return false;
  if (std::string_view(value) != "1")
    throw InputError(fmt::format("DDPSIM_SHARE_GPU is '{}'", value),
                     "set it to 1, for all ranks on GPU 0, or not at all");
  return true;
}

int choose_gpu(const RankPlace& place) {
  int count = 0;
  auto result = cudaGetDeviceCount(&count);
  if (result != cudaSuccess || count == 0)
    throw BackendMissing(
        fmt::format("rank {}: no CUDA GPU was found: cudaGetDeviceCount says '{}'\n"
                    "hint: 'nvidia-smi' should list a GPU, with a driver new enough for CUDA {}.{}",
                    place.rank, result == cudaSuccess ? "0 devices" : cudaGetErrorString(result),
                    CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10));
  if (share_gpu()) return 0;
  if (place.local_rank < count) return place.local_rank;
  if (count == 1 && place.ranks_here == 1 && std::getenv("CUDA_VISIBLE_DEVICES") != nullptr) return 0;
  throw BackendMissing(
      fmt::format("rank {}: GPU {} was looked for, for local rank {}, but this machine shows {}\n"
                  "hint: start as many ranks on a machine as it has GPUs; see also CUDA_VISIBLE_DEVICES",
                  place.rank, place.local_rank, place.local_rank, count));
}

}  // namespace ddpsim::validate
