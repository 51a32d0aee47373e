#include "sim/program/power_sgd.hpp"

#include <algorithm>
#include <utility>

namespace ddpsim {
namespace {

// Kernels on elements of one type, one after the other.
class Kernels {
 public:
  Kernels(const Overheads& overheads, DType dtype)
      : overheads_(overheads), element_(bytes_per_element(dtype)) {}

  // Elements that one reads or writes.
  void move(double elements, Flops work = {}) {
    auto time = Bytes(elements * element_) / *overheads_.pass_bandwidth;
    if (overheads_.product_rate) time = std::max(time, work / *overheads_.product_rate);
    sum_ += overheads_.pass_launch + time;
  }

  // Of M, P and Q any two give the third.
  void product(const LowRank& matrix) {
    auto rows = static_cast<double>(matrix.rows), columns = static_cast<double>(matrix.columns);
    move(rows * columns + (rows + columns) * matrix.rank, Flops(2 * rows * columns * matrix.rank));
  }

  // _orthogonalize_gram_schmidt: each column's norm and division, its products with the columns after it,
  // their sums, those times the column, and the difference.
  void orthogonalize(std::int64_t length, int rank) {
    auto column = static_cast<double>(length);
    for (int rest = rank - 1; rest >= 0; --rest) {
      move(column);
      move(2 * column);
      if (rest == 0) continue;
      move((2 * rest + 1) * column);
      move(rest * column);
      move((rest + 1) * column);
      move(3 * rest * column);
    }
  }

  [[nodiscard]] Seconds take() { return std::exchange(sum_, {}); }

 private:
  const Overheads& overheads_;
  double element_;
  Seconds sum_;
};

}  // namespace

CompressionTimes compression_times(const Bucket& bucket, const LowRankPlan& plan,
                                   const Overheads& overheads) {
  auto sums = low_rank_elements(plan, bucket.gradients);
  auto whole = static_cast<double>(sums.whole), q = static_cast<double>(sums.q);
  double all = bucket.bytes / Bytes(bytes_per_element(bucket.dtype));
  auto each = [&](auto use) {
    for (auto gradient : bucket.gradients)
      if (const auto& matrix = plan.gradients[gradient]; matrix.rank > 0) use(matrix);
  };
  Kernels kernels(overheads, bucket.dtype);
  CompressionTimes times;
  if (plan.options.error_feedback) {
    kernels.move(3 * all);  // += the error
    kernels.move(2 * all);  // clone()
  }
  if (whole > 0) kernels.move(2 * whole);  // cat()
  each([&](const LowRank& matrix) { kernels.orthogonalize(matrix.columns, matrix.rank); });
  each([&](const LowRank& matrix) { kernels.product(matrix); });
  times.before = kernels.take();
  if (whole > 0) kernels.move(2 * whole);
  for (auto gradient : bucket.gradients)
    if (const auto& tensor = plan.gradients[gradient]; tensor.rank == 0)
      kernels.move(2 * static_cast<double>(tensor.rows * tensor.columns));
  times.unpack = kernels.take();
  each([&](const LowRank& matrix) { kernels.orthogonalize(matrix.rows, matrix.rank); });
  each([&](const LowRank& matrix) { kernels.product(matrix); });
  times.between = kernels.take();
  if (q > 0) kernels.move(2 * q);
  each([&](const LowRank& matrix) { kernels.product(matrix); });
  if (plan.options.error_feedback) kernels.move(3 * all);
  times.after = kernels.take();
  return times;
}

}  // namespace ddpsim
