#include "sim/ddp/recorded_buckets.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/core.h>

#include "sim/ddp/ddp_rules.hpp"

namespace ddpsim {
namespace {

const Bytes kOneByte(1);

// What one recorded bucket says about the cap under which it was filled.
struct Fill {
  Bytes before_last;  // without its last tensor
  Bytes whole;
};

// The gradients of each dtype are cut where the recorded buckets end; nothing where they do not end there.
using Fills = std::map<DType, std::vector<Fill>>;

std::optional<Fills> fill_buckets(std::span<const RecordedCollective> recorded,
                                  std::span<const NumberedTensor> tensors) {
  std::map<DType, std::vector<Bytes>> waiting;  // by dtype, the last one first
  for (auto tensor = tensors.rbegin(); tensor != tensors.rend(); ++tensor)
    waiting[tensor->dtype].push_back(tensor->bytes);
  Fills fills;
  for (const auto& collective : recorded) {
    auto& left = waiting[collective.dtype];
    Fill fill;
    while (fill.whole < collective.bytes()) {
      if (left.empty()) return std::nullopt;
      fill.before_last = fill.whole;
      fill.whole += left.back();
      left.pop_back();
    }
    if (fill.whole != collective.bytes()) return std::nullopt;
    fills[collective.dtype].push_back(fill);
  }
  for (const auto& [dtype, left] : waiting)
    if (!left.empty()) return std::nullopt;
  return fills;
}

// Raises the lower end and sinks the upper one to what a bucket says.
void narrow(CapInterval& interval, const Fill& fill, bool may_be_open) {
  interval.smallest = std::max(interval.smallest, fill.before_last + kOneByte);
  if (!may_be_open) interval.largest = std::min(interval.largest.value_or(fill.whole), fill.whole);
}

CapIntervals narrowed(const Fills& fills) {
  CapIntervals caps{{kOneByte, {}}, {kOneByte, {}}};
  for (const auto& [dtype, of_dtype] : fills)
    for (std::size_t i = 0; i < of_dtype.size(); ++i)
      narrow(i == 0 ? caps.first : caps.later, of_dtype[i], i + 1 == of_dtype.size());
  return caps;
}

// The interval cut where a dtype's last bucket stops being closed: among several dtypes that changes its
// place. A dtype's only bucket is under the first cap, any other last one under the later cap.
std::vector<CapInterval> pieces(const CapInterval& whole, const Fills& fills, bool of_first_cap) {
  std::vector<CapInterval> cut{whole};
  for (const auto& [dtype, of_dtype] : fills) {
    if (fills.size() == 1) break;
    if ((of_dtype.size() == 1) != of_first_cap) continue;
    auto closed = of_dtype.back().whole;
    std::vector<CapInterval> next;
    for (const auto& piece : cut) {
      if (piece.contains(closed) && piece.contains(closed + kOneByte)) {
        next.push_back({piece.smallest, closed});
        next.push_back({closed + kOneByte, piece.largest});
      } else {
        next.push_back(piece);
      }
    }
    cut = std::move(next);
  }
  return cut;
}

// Options whose caps are the given ones, so that the rule has two limits to set.
DdpOptions with_caps(DdpOptions options, std::optional<Bytes> first, std::optional<Bytes> later) {
  options.bucket_caps.clear();
  options.first_bucket_cap = first;
  options.bucket_cap = later;
  return options;
}

// Joins the rectangles that differ in one interval only, where that one goes on.
void add_joined(std::vector<CapIntervals>& all, CapIntervals next) {
  if (!all.empty()) {
    auto& last = all.back();
    if (last.first == next.first && last.later.largest &&
        *last.later.largest + kOneByte == next.later.smallest) {
      last.later.largest = next.later.largest;
      return;
    }
  }
  all.push_back(next);
}

// The number in the interval that the highest power of two divides; the smallest of those.
Bytes roundest(const CapInterval& interval) {
  double highest = interval.largest ? interval.largest->value() : 2 * interval.smallest.value();
  for (double step = 0x1p52; step > 1; step /= 2) {
    double multiple = std::ceil(interval.smallest.value() / step) * step;
    if (multiple <= highest) return Bytes(multiple);
  }
  return interval.smallest;
}

Bytes preferred(const CapInterval& interval, Bytes usual) {
  return interval.contains(usual) ? usual : roundest(interval);
}

std::optional<CapInterval> common(const CapIntervals& caps) {
  CapInterval both{std::max(caps.first.smallest, caps.later.smallest), caps.first.largest};
  if (caps.later.largest)
    both.largest = std::min(both.largest.value_or(*caps.later.largest), *caps.later.largest);
  if (both.largest && *both.largest < both.smallest) return std::nullopt;
  return both;
}

// Of Bucket or AssignedBucket.
template <class Bucket>
bool are(const std::vector<Bucket>& buckets, std::span<const RecordedCollective> recorded) {
  return std::ranges::equal(buckets, recorded,
                            [](const Bucket& bucket, const RecordedCollective& collective) {
                              return bucket.dtype == collective.dtype && bucket.bytes == collective.bytes();
                            });
}

bool options_give(const LayerTrace& trace, const DdpOptions& options,
                  std::span<const RecordedCollective> recorded) {
  return are(make_reduction_plan(trace, Reducer::ddp, options).buckets, recorded);
}

// "25MiB", or in bytes what is no whole number of a larger unit.
std::string exact_size(Bytes bytes) {
  constexpr std::pair<double, const char*> kUnits[] = {{0x1p30, "GiB"}, {0x1p20, "MiB"}, {0x1p10, "KiB"}};
  for (auto [size, unit] : kUnits)
    if (bytes.value() >= size && std::fmod(bytes.value(), size) == 0)
      return fmt::format("{}{}", bytes.value() / size, unit);
  return fmt::format("{:.0f}B", bytes.value());
}

}  // namespace

std::vector<CapIntervals> caps_that_give(std::span<const RecordedCollective> recorded,
                                         const LayerTrace& trace, const DdpOptions& options) {
  auto capped = with_caps(options, kOneByte, kOneByte);
  auto tensors = tensors_of(trace, ddp_assignment_order(trace, capped, find_unused_gradients(trace, capped)));
  auto rule = ddp_assignment_rule(capped);
  if (rule.limits.size() < 2) return {};  // the first iteration knows no caps
  std::vector<RecordedCollective> in_order(recorded.begin(), recorded.end());
  if (rule.reverse_buckets) std::reverse(in_order.begin(), in_order.end());
  auto fills = fill_buckets(in_order, tensors);
  if (!fills) return {};
  auto caps = narrowed(*fills);
  for (const auto* interval : {&caps.first, &caps.later})
    if (interval->largest && *interval->largest < interval->smallest) return {};
  TensorWalk walk(tensors);
  auto gives = [&](Bytes first, Bytes later) {  // asks the rule itself
    return are(walk.assign(std::vector{first, later}, rule.order), in_order);
  };
  std::vector<CapIntervals> found;
  for (const auto& first : pieces(caps.first, *fills, true))
    for (const auto& later : pieces(caps.later, *fills, false))
      if (gives(first.smallest, later.smallest)) add_joined(found, {first, later});
  return found;
}

std::optional<DdpOptions> options_that_give(std::span<const RecordedCollective> recorded,
                                            const LayerTrace& trace, const DdpOptions& options) {
  auto defaults = with_caps(options, {}, {});
  if (options_give(trace, defaults, recorded)) return defaults;
  auto found = caps_that_give(recorded, trace, options);
  for (const auto& caps : found) {
    // Since 2.4 bucket_cap alone is the first cap as well, until 2.3 the first cap is 1 MiB then.
    std::vector<CapInterval> alone{caps.later};
    if (auto both = common(caps)) alone.push_back(*both);
    for (const auto& interval : alone) {
      auto one_cap = with_caps(options, {}, preferred(interval, kDefaultBucketCap));
      if (options_give(trace, one_cap, recorded)) return one_cap;
    }
  }
  for (const auto& caps : found) {
    auto two_caps = with_caps(options, preferred(caps.first, kDefaultFirstBucket),
                              preferred(caps.later, kDefaultBucketCap));
    if (options_give(trace, two_caps, recorded)) return two_caps;
  }
  return std::nullopt;
}

std::string describe_caps(const DdpOptions& options) {
  if (!options.bucket_cap && !options.first_bucket_cap) return "PyTorch's default bucket_cap";
  auto cap = fmt::format("bucket_cap {}", exact_size(options.bucket_cap.value_or(kDefaultBucketCap)));
  if (!options.first_bucket_cap) return cap;
  return fmt::format("first_bucket_cap {} and {}", exact_size(*options.first_bucket_cap), cap);
}

}  // namespace ddpsim
