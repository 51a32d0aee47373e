#include "sim/timeline/timeline.hpp"

#include <algorithm>
#include <tuple>

#include "sim/base/check.hpp"

namespace ddpsim {

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
