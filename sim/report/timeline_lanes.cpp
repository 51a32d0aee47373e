#include "sim/report/timeline_lanes.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ddpsim {

std::vector<int> lanes_of(const std::vector<Span>& spans) {
  std::vector<Seconds> ends;
  std::vector<int> lanes;
  for (const auto& span : spans) {
    auto lane = std::find_if(ends.begin(), ends.end(), [&](Seconds end) { return end <= span.start; });
    lanes.push_back(static_cast<int>(lane - ends.begin()));
    if (lane == ends.end())
      ends.push_back(span.end);
    else
      *lane = span.end;
  }
  return lanes;
}

std::string class_name(const RankTimeline& ranks, bool in_pipeline, const std::string& more) {
  auto name = ranks.ranks == 1 ? fmt::format("rank {} (1 rank", ranks.rank)
                               : fmt::format("ranks like {} ({} ranks", ranks.rank, ranks.ranks);
  if (ranks.ranks > 1 && ranks.stragglers.size() == static_cast<std::size_t>(ranks.ranks))
    name = fmt::format("ranks {} ({} ranks", fmt::join(ranks.stragglers, ", "), ranks.ranks);
  if (in_pipeline) name = fmt::format("stage {}: ", ranks.stage) + name;
  if (ranks.slowdown > 1) name += fmt::format(", {:.4g}x slower", ranks.slowdown);
  if (ranks.slowdown < 1) name += fmt::format(", {:.4g}x faster", 1 / ranks.slowdown);
  return name + more + ")";
}

Seconds earliest(const Timeline& timeline) {
  auto zero = timeline.rank_classes.front().compute.front().start;
  for (const auto& ranks : timeline.rank_classes)
    for (const auto* lane : {&ranks.compute, &ranks.communication})
      for (const auto& span : *lane) zero = std::min(zero, span.start);
  return zero;
}

}  // namespace ddpsim
