#include "sim/study/timeline_difference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

namespace ddpsim {
namespace {

// By what they are, not by when: spans that start at one time come in either order.
std::vector<Span> sorted(std::vector<Span> spans) {
  std::ranges::sort(spans, {}, [](const Span& span) {
    return std::tuple(span.communicator, span.activity, span.index, span.start);
  });
  return spans;
}

// Compute ends a span where its pace changes, and waits where there is a moment to wait for, which rounding
// may make or unmake: what is compared is where each activity begins and ends, but for such moments.
constexpr Seconds kMoment(1e-9);

std::vector<Span> whole(const std::vector<Span>& compute) {
  std::vector<Span> spans;
  for (const auto& span : compute) {
    if (span.activity == Activity::wait) continue;
    bool goes_on = !spans.empty() && spans.back().activity == span.activity &&
                   spans.back().index == span.index && span.start - spans.back().end < kMoment;
    if (goes_on)
      spans.back().end = span.end;
    else
      spans.push_back(span);
  }
  return spans;
}

Seconds largest_difference(const std::vector<Span>& one, const std::vector<Span>& other) {
  if (one.size() != other.size()) return Seconds(std::numeric_limits<double>::infinity());
  Seconds largest;
  for (std::size_t i = 0; i < one.size(); ++i)
    for (auto time : {&Span::start, &Span::end})
      largest = std::max(largest, Seconds(std::abs((one[i].*time - other[i].*time).value())));
  return largest;
}

Seconds difference(const RankTimeline& one, const RankTimeline& other) {
  return std::max(largest_difference(sorted(one.communication), sorted(other.communication)),
                  largest_difference(whole(one.compute), whole(other.compute)));
}

}  // namespace

double largest_difference(const Timeline& one, const Timeline& other) {
  if (one.rank_classes.size() > other.rank_classes.size()) return largest_difference(other, one);
  Seconds largest, iteration;
  for (const auto& mine : one.rank_classes) {
    Seconds least(std::numeric_limits<double>::infinity());
    // Once rank 0 is a class of its own, what is left of its class may be named after a rank of another one.
    for (const auto& its : other.rank_classes)
      if (its.rank == mine.rank) least = std::min(least, difference(mine, its));
    largest = std::max(largest, least);
    iteration = std::max(iteration, mine.duration());
  }
  return largest / iteration;
}

}  // namespace ddpsim
