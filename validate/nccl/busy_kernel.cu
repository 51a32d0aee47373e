#include "validate/nccl/busy_kernel.hpp"

namespace {

__device__ std::uint64_t now() {
  std::uint64_t nanoseconds;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
  return nanoseconds;
}

__global__ void busy(std::uint64_t nanoseconds) {
  const std::uint64_t start = now();
  while (now() - start < nanoseconds) {
  }
}

}  // namespace

namespace ddpsim::validate {

cudaError_t launch_busy_kernel(std::uint64_t nanoseconds, int blocks, cudaStream_t stream) {
  busy<<<blocks, 128, 0, stream>>>(nanoseconds);
  return cudaGetLastError();
}

}  // namespace ddpsim::validate
