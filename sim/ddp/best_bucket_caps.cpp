#include "sim/ddp/best_bucket_caps.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ddpsim {
namespace {

// A cap above `more_than`, at most `at_most`: whole numbers.
struct CapRange {
  Bytes more_than, at_most;
  [[nodiscard]] bool is_empty() const { return more_than >= at_most; }
};

CapRange common(const CapRange& a, const CapRange& b) {
  return {std::max(a.more_than, b.more_than), std::min(a.at_most, b.at_most)};
}

Bytes roundest_in(const CapRange& range) {
  for (double unit : {0x1p20, 0x1p16, 0x1p10})
    if (Bytes cap(std::floor(range.at_most.value() / unit) * unit); cap > range.more_than) return cap;
  return range.at_most;
}

}  // namespace

std::vector<std::size_t> best_buckets(std::span<const Bytes> tensors, std::span<const Seconds> ready,
                                      const std::function<Seconds(Bytes)>& time) {
  auto n = tensors.size();
  // By prefix: when its last all-reduce can end at the earliest, and where its last bucket then begins. An
  // earlier end of what comes before never makes a bucket end later: what is best for a prefix is best for
  // all that follow it.
  std::vector<Seconds> end(n + 1, Seconds(std::numeric_limits<double>::infinity()));
  std::vector<std::size_t> begin(n + 1);
  std::vector<Bytes> before(n + 1);
  end[0] = {};
  Seconds all_ready;
  for (std::size_t i = 1; i <= n; ++i) {
    before[i] = before[i - 1] + tensors[i - 1];
    all_ready = std::max(all_ready, ready[i - 1]);
    for (std::size_t j = 0; j < i; ++j) {
      auto ends = std::max(end[j], all_ready) + time(before[i] - before[j]);
      if (ends >= end[i]) continue;
      end[i] = ends;
      begin[i] = j;
    }
  }
  std::vector<std::size_t> ends;
  for (auto i = n; i > 0; i = begin[i]) ends.push_back(i);
  std::reverse(ends.begin(), ends.end());
  return ends;
}

std::vector<Bytes> caps_of_buckets(std::span<const Bytes> tensors, std::span<const std::size_t> ends) {
  std::vector<CapRange> ranges;
  std::size_t begin = 0;
  for (auto end : ends) {
    CapRange range;
    for (auto tensor = begin; tensor < end; ++tensor) {
      range.more_than = range.at_most;
      range.at_most += tensors[tensor];
    }
    ranges.push_back(range);
    begin = end;
  }
  // One cap for as many of the last ones as take the same; the very last bucket may stay open.
  auto last = ranges.back();
  ranges.pop_back();
  while (!ranges.empty()) {
    auto both = CapRange{std::max(ranges.back().more_than, last.more_than), ranges.back().at_most};
    if (ranges.size() + 1 < ends.size()) both = common(ranges.back(), last);
    if (both.is_empty()) break;
    last = both;
    ranges.pop_back();
  }
  std::vector<Bytes> caps;
  for (const auto& range : ranges) caps.push_back(roundest_in(range));
  caps.push_back(roundest_in(last));
  return caps;
}

}  // namespace ddpsim
