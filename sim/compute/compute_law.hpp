#pragma once
// How long kernels of a training step take on a GPU with a software: docs/model.md, "Compute times by law".
#include "sim/compute/software.hpp"
#include "sim/gpu/gpu_description.hpp"

namespace ddpsim {

// Matrices are stored row by row, one token after the other: the number of tokens is no leading dimension,
// and kernels load whole vectors whatever it is.
enum class Tokens { m, k };  // the dimension that counts them: activations times weights; a weight's gradient

struct Product {
  std::int64_t m, n, k;
  Tokens tokens = Tokens::m;
  std::int64_t count = 1;  // in one grouped kernel, whose tiles fill waves together
};

// Times are those of a GPU of the median speed: the software's without the wait for the slowest of the GPUs
// that it was fitted on.
class ComputeLaw {
 public:
  // Throws InputError where the GPU has no peak for `precision`.
  ComputeLaw(const GpuDescription& gpu, const Software& software, Precision precision);

  // C[m, n] = A[m, k] B[k, n]: whole waves of tiles over the multiprocessors, or the traffic of the matrices.
  [[nodiscard]] Seconds product(const Product& of) const;
  // The same in 16 bits where `precision` is float8: attention, logits.
  [[nodiscard]] Seconds wide_product(const Product& of) const;
  // The mean of unfused attention's two batched products: `count` of [s, d] x [d, s], and of [s, s] x [s, d].
  [[nodiscard]] Seconds batched_product(double count, std::int64_t sequence, std::int64_t head_dim) const;
  [[nodiscard]] Seconds attention_kernel(double flops, std::int64_t head_dim) const;
  // Of large products in 16 bits.
  [[nodiscard]] Seconds products(double flops) const;
  [[nodiscard]] Seconds traffic(double bytes) const;
  // A pass whose kernels the host launches one by one while the device works.
  [[nodiscard]] Seconds paced(Seconds device, double kernels) const;

  [[nodiscard]] const Software& software() const { return software_; }
  [[nodiscard]] Precision precision() const { return precision_; }
  [[nodiscard]] int element_bytes() const { return activation_bytes(precision_); }

 private:
  [[nodiscard]] Seconds product_at(FlopsPerSecond peak, const Product& of) const;

  Software software_;
  Precision precision_;
  double gemm_;    // share of the peak that products sustain
  double faster_;  // than what the software was fitted to
  double multiprocessors_;
  FlopsPerSecond peak_, wide_peak_;
  BytesPerSecond memory_;  // reached
};

}  // namespace ddpsim
