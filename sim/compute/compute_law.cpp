#include "sim/compute/compute_law.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "sim/variability/expected_slowest.hpp"

namespace ddpsim {
namespace {

// Output tiles of a product's kernel, and the share of the rate that each sustains.
struct Tile {
  int rows, columns;
  double rate;
};
constexpr std::array<Tile, 5> kTiles{
    {{256, 128, 1.0}, {128, 256, 1.0}, {128, 128, 0.93}, {128, 64, 0.75}, {64, 64, 0.5}}};
constexpr double kLeastSplit = 1024;  // of k
constexpr double kWideHead = 128;     // of which software files have attention's share

double ceil_divide(std::int64_t a, int b) {
  std::int64_t quotient = (a + b - 1) / b;
  return static_cast<double>(quotient);
}

// Experts have as many tokens each on average only: the last tile of each is half full in the mean.
double tiles_of_rows(const Product& of, int rows) {
  if (of.count == 1 || of.tokens != Tokens::m) return ceil_divide(of.m, rows);
  return std::max(1.0, static_cast<double>(of.m) / rows + 0.5);
}

FlopsPerSecond wide_peak_of(const GpuDescription& gpu, Precision precision) {
  if (precision != Precision::float8) return peak_of(gpu, precision);
  return peak_of(gpu, gpu.peak.contains(Precision::bfloat16) ? Precision::bfloat16 : Precision::float16);
}

// Elements whose multiples tensor cores take at their full rate: 16 bytes, and of float8 no more than of 16
// bits. Products in float32 run elsewhere and ask for none.
int aligned_elements(Precision precision) {
  if (precision == Precision::float32 || precision == Precision::float64) return 1;
  return precision == Precision::tfloat32 ? 4 : 8;
}

// How slow the slowest of the ranks was that a software was fitted to.
double slowest_of_fit(const Software& software) {
  std::vector<AlikeNodes> fitted{{{{1, software.ranks}}, 1}};
  return expected_slowest(fitted, software.spread, 0);
}

}  // namespace

ComputeLaw::ComputeLaw(const GpuDescription& gpu, const Software& software, Precision precision)
    : software_(software),
      precision_(precision),
      gemm_(products_share(software, precision)),
      faster_(slowest_of_fit(software)),
      multiprocessors_(gpu.multiprocessors),
      peak_(faster_ * peak_of(gpu, precision)),
      wide_peak_(faster_ * wide_peak_of(gpu, precision)),
      memory_(faster_ * gpu.memory_bandwidth * software.memory) {}

Seconds ComputeLaw::product_at(FlopsPerSecond peak, const Product& of) const {
  const auto& [m, n, k, tokens, count] = of;
  auto step = aligned_elements(precision_);
  bool is_aligned = n % step == 0 && (tokens == Tokens::m ? k : m) % step == 0;
  double rate = peak.value() * gemm_ / multiprocessors_ * (is_aligned ? 1 : software_.unaligned);
  auto products = static_cast<double>(count);
  double best = std::numeric_limits<double>::infinity();
  for (const auto& [rows, columns, share] : kTiles) {
    double tiles = products * tiles_of_rows(of, rows) * ceil_divide(n, columns);
    // Few tiles and a long k (gradients of weights): each tile's k is split, and the parts are added up.
    for (double split : {1., 2., 4., 8.}) {
      auto part = static_cast<double>(k) / split;
      if (split > 1 && part < kLeastSplit) break;
      double waves = std::ceil(tiles * split / multiprocessors_);
      double sums =
          split == 1
              ? 0
              : traffic(8 * split * products * static_cast<double>(m) * static_cast<double>(n)).value();
      best = std::min(best, waves * 2 * rows * columns * (part + software_.k_ramp) / (rate * share) + sums);
    }
  }
  auto values = static_cast<double>(m) * static_cast<double>(k) +
                static_cast<double>(k) * static_cast<double>(n) +
                static_cast<double>(m) * static_cast<double>(n);
  return std::max(Seconds(best), traffic(element_bytes() * products * values));
}

Seconds ComputeLaw::product(const Product& of) const {
  return product_at(peak_, of);
}

Seconds ComputeLaw::wide_product(const Product& of) const {
  return product_at(wide_peak_, of);
}

Seconds ComputeLaw::batched_product(double count, std::int64_t sequence, std::int64_t head_dim) const {
  double rate = wide_peak_.value() * gemm_ *
                (head_dim % aligned_elements(precision_) == 0 ? 1 : software_.unaligned_attention);
  auto s = static_cast<double>(sequence), d = static_cast<double>(head_dim);
  double scores = d / (d + software_.k_ramp);                            // a short k
  double context = std::min(1.0, d / 128) * s / (s + software_.k_ramp);  // a narrow n
  return Seconds(count * s * s * d * (1 / (rate * scores) + 1 / (rate * context)));
}

Seconds ComputeLaw::attention_kernel(double flops, std::int64_t head_dim) const {
  double halvings = std::max(0.0, std::log2(kWideHead / static_cast<double>(head_dim)));
  return Seconds(flops /
                 (wide_peak_.value() * software_.attention * std::pow(software_.narrow_heads, halvings)));
}

Seconds ComputeLaw::products(double flops) const {
  return Seconds(flops / (wide_peak_.value() * gemm_));
}

Seconds ComputeLaw::traffic(double bytes) const {
  return Bytes(bytes) / memory_;
}

Seconds ComputeLaw::paced(Seconds device, double kernels) const {
  auto host = kernels * software_.host / faster_;
  auto longer = std::max({device, host, Seconds(1e-12)}), shorter = std::min(device, host);
  return longer * std::pow(1 + std::pow(shorter / longer, software_.queue), 1 / software_.queue);
}

}  // namespace ddpsim
