#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "sim/base/limits.hpp"
#include "sim/config/reader.hpp"
#include "sim/engine/sections.hpp"

namespace ddpsim {
namespace {

using config::as_integer;
using config::as_list;
using config::as_number;
using config::MapReader;
using config::Value;

struct Straggler {
  int rank;
  double slowdown;
  SourceSpan span;
};

Straggler as_straggler(const Value& value) {
  MapReader reader(value, "stragglers");
  auto rank = reader.required("rank", as_integer(0, kLargestWorldSize - 1));
  auto slowdown = reader.required("slowdown", as_number(1, 1e6));
  reader.finish();
  return {static_cast<int>(rank), slowdown, value.span};
}

// Ranks by slowdown; each class is named by its lowest rank.
std::vector<RankClass> classify(int world_size, const std::vector<Straggler>& stragglers) {
  std::map<int, double> slow;
  for (const auto& straggler : stragglers) {
    if (straggler.rank >= world_size)
      throw InputError(straggler.span,
                       fmt::format("there is no rank {} among {}", straggler.rank, world_size),
                       fmt::format("the last rank is {}", world_size - 1));
    if (!slow.emplace(straggler.rank, straggler.slowdown).second)
      throw InputError(straggler.span, fmt::format("rank {} is listed twice", straggler.rank), "remove one");
  }
  std::map<double, RankClass> by_slowdown;
  int plain = world_size;
  for (const auto& [rank, slowdown] : slow) {
    if (slowdown == 1) continue;
    auto& rank_class = by_slowdown.try_emplace(slowdown, RankClass{rank, 0, slowdown}).first->second;
    ++rank_class.ranks;
    --plain;
  }
  std::vector<RankClass> classes;
  int lowest_plain = 0;
  while (slow.contains(lowest_plain) && slow.at(lowest_plain) != 1) ++lowest_plain;
  if (plain > 0) classes.push_back({lowest_plain, plain, 1});
  for (const auto& [slowdown, rank_class] : by_slowdown) classes.push_back(rank_class);
  std::sort(classes.begin(), classes.end(), [](const auto& a, const auto& b) { return a.rank < b.rank; });
  return classes;
}

}  // namespace

std::vector<RankClass> read_rank_classes(const Value* stragglers, int world_size) {
  return classify(world_size, stragglers ? as_list(as_straggler)(*stragglers) : std::vector<Straggler>{});
}

}  // namespace ddpsim
