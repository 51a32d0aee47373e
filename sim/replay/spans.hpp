#pragma once
#include <vector>

#include "sim/timeline/timeline.hpp"

namespace ddpsim {

// Adds a span to a lane, or makes the last one longer where it goes on as it was.
inline void add_span(std::vector<Span>& lane, const Span& span) {
  if (span.end <= span.start) return;
  if (!lane.empty()) {
    auto& last = lane.back();
    if (last.activity == span.activity && last.index == span.index && last.end == span.start &&
        last.is_fixed == span.is_fixed && (last.lost > Seconds(0)) == (span.lost > Seconds(0))) {
      last.end = span.end;
      last.lost += span.lost;
      return;
    }
  }
  lane.push_back(span);
}

// Of some time, what it lost to a pace below 1.
inline Seconds lost_to(double pace, Seconds passed) {
  return passed - pace * passed;
}

}  // namespace ddpsim
