#include <algorithm>
#include <map>

#include <fmt/core.h>

#include "sim/resolve/sections.hpp"

namespace ddpsim {

Slowdowns read_stragglers(const GivenJob& given,
                          const std::function<std::vector<int>(int node)>& ranks_of_node) {
  Slowdowns slowdowns;
  const auto& stragglers = given.job.workload.stragglers;
  for (std::size_t i = 0; i < stragglers.size(); ++i) {
    const auto& one = stragglers[i];
    const auto& place = given.at(fmt::format("workload.stragglers[{}]", i));
    std::vector<int> ranks;
    if (one.rank) ranks.push_back(*one.rank);
    if (one.node && ranks_of_node) ranks = ranks_of_node(*one.node);
    if (ranks.empty())
      throw InputError(place, fmt::format("there is no node {} in this cluster", *one.node),
                       "name a rank, or a node that holds ranks");
    for (int rank : ranks) {
      if (rank >= given.job.cluster.world_size)
        throw InputError(place,
                         fmt::format("there is no rank {} among {}", rank, given.job.cluster.world_size),
                         fmt::format("the last rank is {}", given.job.cluster.world_size - 1));
      if (!slowdowns.emplace(rank, one.slowdown).second)
        throw InputError(place, fmt::format("rank {} is listed twice", rank), "remove one");
    }
  }
  return slowdowns;
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
