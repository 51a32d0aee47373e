#pragma once
// How long kernels of a training step take on a GPU with a software: docs/model.md, "Compute times by law".
#include "sim/compute/software.hpp"
#include "sim/gpu/gpu_description.hpp"

namespace ddpsim {

class ComputeLaw {
 public:
  // Throws InputError where the GPU has no peak for `precision`.
  ComputeLaw(const GpuDescription& gpu, const Software& software, Precision precision);

  // C[m, n] = A[m, k] B[k, n]: whole waves of tiles over the multiprocessors, or the traffic of the matrices.
  // `count` of them in one grouped kernel, whose tiles fill waves together.
  [[nodiscard]] Seconds product(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t count = 1) const;
  // The same in 16 bits where `precision` is float8: attention, logits.
  [[nodiscard]] Seconds wide_product(std::int64_t m, std::int64_t n, std::int64_t k) const;
  // The mean of unfused attention's two batched products: `count` of [s, d] x [d, s], and of [s, s] x [s, d].
  [[nodiscard]] Seconds batched_product(double count, std::int64_t sequence, std::int64_t head_dim) const;
  [[nodiscard]] Seconds attention_kernel(double flops) const;
  [[nodiscard]] Seconds traffic(double bytes) const;
  // A pass whose kernels the host launches one by one while the device works.
  [[nodiscard]] Seconds paced(Seconds device, int kernels) const;

  [[nodiscard]] const Software& software() const { return software_; }
  [[nodiscard]] Precision precision() const { return precision_; }
  [[nodiscard]] int element_bytes() const { return activation_bytes(precision_); }

 private:
  [[nodiscard]] Seconds product_at(FlopsPerSecond peak, std::int64_t m, std::int64_t n, std::int64_t k,
                                   std::int64_t count) const;

  Software software_;
  Precision precision_;
  double multiprocessors_;
  FlopsPerSecond peak_, wide_peak_;
  BytesPerSecond memory_;  // reached
};

}  // namespace ddpsim
