#include <algorithm>
#include <map>

#include <fmt/core.h>

#include "sim/base/limits.hpp"
#include "sim/config/reader.hpp"
#include "sim/text/sections.hpp"

namespace ddpsim {
namespace {

using config::as_integer;
using config::as_number;
using config::MapReader;
using config::Value;

class StragglerReader {
 public:
  StragglerReader(int world_size, const std::function<std::vector<int>(int node)>& ranks_of_node)
      : world_size_(world_size), ranks_of_node_(ranks_of_node) {}

  void read(const Value& value) {
    MapReader reader(value, "stragglers");
    auto whole = as_integer(0, kLargestWorldSize - 1);
    auto rank = reader.optional("rank", whole);
    auto node = reader.optional("node", whole);
    auto slowdown = reader.required("slowdown", as_number(1, kLargestSlowdown));
    reader.finish();
    if (rank.has_value() == node.has_value())
      throw InputError(value.span, "a straggler is a rank or a node", "write {rank: 3, slowdown: 1.2}");
    if (rank) return add(static_cast<int>(*rank), slowdown, value.span);
    auto ranks = ranks_of_node_ ? ranks_of_node_(static_cast<int>(*node)) : std::vector<int>{};
    if (ranks.empty())
      throw InputError(value.span, fmt::format("there is no node {} in this cluster", *node),
                       "name a rank, or a node that holds ranks");
    for (int member : ranks) add(member, slowdown, value.span);
  }

  Slowdowns take() { return std::move(slowdowns_); }

 private:
  void add(int rank, double slowdown, const SourceSpan& place) {
    if (rank >= world_size_)
      throw InputError(place, fmt::format("there is no rank {} among {}", rank, world_size_),
                       fmt::format("the last rank is {}", world_size_ - 1));
    if (!slowdowns_.emplace(rank, slowdown).second)
      throw InputError(place, fmt::format("rank {} is listed twice", rank), "remove one");
  }

  int world_size_;
  const std::function<std::vector<int>(int node)>& ranks_of_node_;
  Slowdowns slowdowns_;
};

}  // namespace

Slowdowns read_stragglers(const Value* stragglers, int world_size,
                          const std::function<std::vector<int>(int node)>& ranks_of_node) {
  if (!stragglers) return {};
  StragglerReader reader(world_size, ranks_of_node);
  for (const auto& item : config::items_of(*stragglers)) reader.read(item);
  return reader.take();
}

std::vector<RankClass> classify(std::span<const int> ranks, const Slowdowns& slowdowns) {
  std::map<double, RankClass> classes;
  for (int rank : ranks) {
    auto it = slowdowns.find(rank);
    double slowdown = it == slowdowns.end() ? 1 : it->second;
    auto& rank_class = classes.try_emplace(slowdown, RankClass{rank, 0, slowdown}).first->second;
    ++rank_class.ranks;
    rank_class.rank = std::min(rank_class.rank, rank);
    if (slowdown > 1) rank_class.stragglers.push_back(rank);
  }
  std::vector<RankClass> sorted;
  for (auto& [slowdown, rank_class] : classes) {
    if (rank_class.stragglers.size() > kMostNamedStragglers) rank_class.stragglers.clear();
    sorted.push_back(rank_class);
  }
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.rank < b.rank; });
  return sorted;
}

std::vector<AlikeNodes> alike_nodes(std::span<const int> ranks, std::span<const RankPlace> places) {
  std::map<int, std::map<double, int>> held;
  for (int rank : ranks) {
    const auto& place = places[static_cast<std::size_t>(rank)];
    ++held[place.node][place.slowdown];
  }
  std::map<std::map<double, int>, int> kinds;
  for (const auto& [node, of_node] : held) ++kinds[of_node];
  std::vector<AlikeNodes> alike;
  for (const auto& [of_node, nodes] : kinds) {
    alike.push_back({{}, nodes});
    for (auto [slowdown, count] : of_node) alike.back().ranks.push_back({slowdown, count});
  }
  return alike;
}

}  // namespace ddpsim
