#pragma once
// Makes time pass on a GPU.
#include <cstdint>

#include <cuda_runtime_api.h>

namespace ddpsim::validate {

// Launches a kernel of `blocks` blocks of 128 threads, a warp for each of an SM's four schedulers, that spin
// for so long on the GPU's %globaltimer, which counts nanoseconds whatever the clock frequency. It advances
// in steps: about 1 us or less on data-centre GPUs, up to 1 ms on some others (PTX ISA, "%globaltimer": the
// update frequency is target-specific), and no duration is finer than that. The kernel needs few registers,
// no shared memory and no memory bandwidth: NCCL's blocks fit beside its own on an SM.
cudaError_t launch_busy_kernel(std::uint64_t nanoseconds, int blocks, cudaStream_t stream);

}  // namespace ddpsim::validate
