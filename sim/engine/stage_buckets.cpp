#include "sim/engine/stage_buckets.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ddpsim {
namespace {

// Parts of matrices add up to whole numbers but for rounding.
constexpr double kRounded = 1 - 1e-12;

// Fills one bucket after the other.
class Filler {
 public:
  Filler(const StageAxis& axis, bool is_one) : axis_(axis), is_one_(is_one) {}

  void add(const StagePart& part, double elements) {
    if (axis_.bucket_units > 0 && part.of_ends != std::exchange(of_ends_, part.of_ends)) close();
    units_ += part.ends_unit;
    if (elements > 0) {
      if (!is_one_ && axis_.closes_before && elements_ + elements > axis_.bucket_elements) close();
      elements_ += elements;
      end_ = part.end;
    }
    if (!is_one_ && !axis_.closes_before && is_full() && (part.ends_unit || !axis_.holds_gathered)) close();
  }
  std::vector<ReducedPart> take(bool of_experts) {
    close();
    for (auto& bucket : buckets_) bucket.of_experts = of_experts;
    return std::move(buckets_);
  }

 private:
  [[nodiscard]] bool is_full() const {
    return axis_.bucket_units > 0 ? units_ >= axis_.bucket_units
                                  : elements_ >= kRounded * axis_.bucket_elements;
  }
  void close() {
    auto bytes = [&](double of_each) { return Bytes(std::ceil(kRounded * elements_ * of_each)); };
    if (elements_ > 0) buckets_.push_back({end_, bytes(axis_.gradient_bytes), bytes(axis_.parameter_bytes)});
    elements_ = 0;
    units_ = 0;
  }

  const StageAxis& axis_;
  bool is_one_;
  double elements_ = 0, end_ = 0;
  int units_ = 0;
  bool of_ends_ = false;
  std::vector<ReducedPart> buckets_;
};

}  // namespace

std::vector<ReducedPart> stage_buckets(const std::vector<StagePart>& parts, const StageAxis& axis,
                                       bool is_first, bool splits_experts) {
  bool is_one =
      (axis.bucket_elements == 0 && axis.bucket_units == 0) || (axis.only_first_has_buckets && !is_first);
  Filler common(axis, is_one), experts(axis, is_one);
  for (const auto& part : parts) {
    common.add(part, part.parameters + (splits_experts ? 0 : part.experts));
    if (splits_experts) experts.add(part, part.experts);
  }
  auto all = common.take(false);
  std::ranges::copy(experts.take(true), std::back_inserter(all));
  std::ranges::stable_sort(all, {}, &ReducedPart::ready);
  return all;
}

}  // namespace ddpsim
