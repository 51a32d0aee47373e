#include "sim/compute/roofline.hpp"

#include <algorithm>

namespace ddpsim {

Seconds Roofline::time(const LayerPass& pass, const Batch& batch) const {
  return std::max(pass.flops(batch) / compute, pass.bytes(batch, dtype) / memory) + launch * pass.kernels;
}

Roofline make_roofline(const GpuDescription& gpu, DType dtype, const Efficiency& efficiency) {
  return {peak_of(gpu, dtype) * efficiency.compute, gpu.memory_bandwidth * efficiency.memory, gpu.copy_launch,
          dtype};
}

Bytes optimizer_bytes(const Model& model, DType parameters) {
  return Bytes(model.elements() * kAdamWValues * bytes_per_element(parameters));
}

}  // namespace ddpsim
