#include "sim/timeline/timeline.hpp"

#include <algorithm>
#include <tuple>

#include "sim/base/check.hpp"

namespace ddpsim {
namespace {

constexpr double kSame = 1e-9;  // relative

}  // namespace

std::string_view activity_name(Activity activity) {
  switch (activity) {
    case Activity::broadcast:
      return "broadcast";
    case Activity::forward:
      return "forward";
    case Activity::backward:
      return "backward";
    case Activity::wait:
      return "wait";
    case Activity::optimizer:
      return "optimizer";
    case Activity::copy_in:
      return "copy_in";
    case Activity::copy_out:
      return "copy_out";
    case Activity::launch:
      return "launch";
    case Activity::all_reduce:
      return "all_reduce";
    case Activity::used_parameter_bitmap:
      return "used_parameter_bitmap";
  }
  return "?";
}

Seconds RankTimeline::duration() const {
  return compute.back().end - compute.front().start;
}

const RankTimeline& Timeline::last_to_finish() const {
  DDPSIM_CHECK(!rank_classes.empty(), "a timeline has at least one rank");
  Seconds longest, latest;
  for (const auto& ranks : rank_classes) longest = std::max(longest, ranks.duration());
  // As long but for rounding.
  auto is_longest = [&](const RankTimeline& ranks) { return longest - ranks.duration() <= kSame * longest; };
  for (const auto& ranks : rank_classes)
    if (is_longest(ranks)) latest = std::max(latest, ranks.compute.back().end);
  auto key = [&](const RankTimeline& ranks) {
    bool is_last = latest - ranks.compute.back().end <= kSame * longest;
    return std::tuple(is_longest(ranks), is_last, ranks.slowdown, -ranks.rank);
  };
  return *std::max_element(rank_classes.begin(), rank_classes.end(),
                           [&](const auto& a, const auto& b) { return key(a) < key(b); });
}

}  // namespace ddpsim
