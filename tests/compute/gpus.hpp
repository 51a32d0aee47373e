#pragma once
// GPUs of round figures.
#include "sim/gpu/gpu_description.hpp"

namespace ddpsim::testing {

// 1 TFLOP/s, 100 GB/s, launches of 5 us; copies reach a half.
inline GpuDescription small_gpu() {
  GpuDescription gpu;
  gpu.name = "Small";
  gpu.multiprocessors = 10;
  gpu.memory = Bytes(8e9);
  gpu.memory_bandwidth = BytesPerSecond(100e9);
  gpu.peak = {{Precision::float32, FlopsPerSecond(1e12)}};
  gpu.copy_efficiency = 0.5;
  return gpu;
}

// Twice the peak, and four times the bandwidth.
inline GpuDescription fast_gpu() {
  auto gpu = small_gpu();
  gpu.name = "Fast";
  gpu.memory_bandwidth = BytesPerSecond(400e9);
  gpu.peak = {{Precision::float32, FlopsPerSecond(2e12)}};
  return gpu;
}

}  // namespace ddpsim::testing
