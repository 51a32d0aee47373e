#include "sim/timeline/timeline.hpp"

#include <algorithm>
#include <tuple>

#include "sim/base/check.hpp"

namespace ddpsim {

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
  auto key = [](const RankTimeline& r) {
    return std::tuple(r.duration(), r.compute.back().end, r.slowdown, -r.rank);
  };
  return *std::max_element(rank_classes.begin(), rank_classes.end(),
                           [&](const auto& a, const auto& b) { return key(a) < key(b); });
}

}  // namespace ddpsim
