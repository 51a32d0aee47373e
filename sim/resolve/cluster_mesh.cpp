#include "sim/resolve/cluster_mesh.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include <fmt/core.h>

#include "sim/mesh/mesh.hpp"
#include "sim/program/recorded_ranks.hpp"

namespace ddpsim {
namespace {

// GPUs of a node, of each as many.
int ranks_of_a_node(const Cluster& cluster, std::span<const int> gpu_of_rank) {
  std::map<int, int> ranks;
  for (int gpu : gpu_of_rank) ++ranks[cluster.node_of(gpu)];
  int least = ranks.begin()->second;
  for (auto [node, of_node] : ranks)
    if (of_node != least)
      throw InputError(fmt::format("nodes hold {} and {} ranks: which of them share shards?", least, of_node),
                       "write fsdp: {shard_group: RANKS}");
  return least;
}

// Ranks, by group.
std::vector<std::vector<int>> groups_of(const CommunicatorUse& use, int shards, int world) {
  if (use.joined == Joined::listed) return use.groups;
  if (use.joined == Joined::all) return Mesh({{use.axis, world}}).groups(0);
  if (use.joined != Joined::sets)
    return Mesh({{"shard", shards}, {"replica", world / shards}})
        .groups(use.joined == Joined::replicas ? 1 : 0);
  if (world % (std::int64_t{use.size} * use.stride) != 0)
    throw InputError(fmt::format("communicator {}: {} ranks are not sets of {}, {} apart", use.axis, world,
                                 use.size, use.stride),
                     "their product divides the world size");
  return Mesh({{"", use.stride}, {use.axis, use.size}, {"", world / use.size / use.stride}}).groups(1);
}

// Ranks of one number do the same, as fast.
std::vector<double> kind_of_rank(std::span<const RankPlace> places,
                                 std::span<const std::size_t> program_of_rank) {
  std::map<std::pair<std::size_t, double>, std::size_t> known;
  std::vector<double> kinds;
  for (std::size_t rank = 0; rank < places.size(); ++rank) {
    std::pair kind(program_of(program_of_rank, rank), places[rank].slowdown);
    kinds.push_back(static_cast<double>(known.try_emplace(kind, known.size()).first->second));
  }
  return kinds;
}

}  // namespace

void add_axes(std::span<const GroupSection> groups, std::span<const CommunicatorUse> uses,
              std::span<const int> gpu_of_rank, Communication& communication) {
  communication.axes.clear();
  auto labels = communication.labels;
  auto kinds = labels.empty() ? 0 : *std::max_element(labels.begin(), labels.end()) + 1;
  communication.labels.clear();
  for (const auto& use : uses) {
    auto axis = static_cast<int>(communication.axes.size());
    communication.axes.push_back({use.axis, use.operations, communication.groups.size()});
    for (std::size_t g = 0; g < groups.size(); ++g) {
      auto& gpus = communication.groups.emplace_back();
      for (int rank : groups[g].ranks) gpus.push_back(gpu_of_rank[static_cast<std::size_t>(rank)]);
      communication.labels.push_back(axis * kinds + labels[g]);
    }
  }
}

int shard_group_ranks(std::optional<int> wanted, const Cluster& cluster, std::span<const int> gpu_of_rank) {
  auto world = static_cast<int>(gpu_of_rank.size());
  int ranks = wanted.value_or(0);
  if (!wanted) ranks = ranks_of_a_node(cluster, gpu_of_rank);
  check_shard_group(ranks, world);
  return ranks;
}

void check_shard_group(int ranks, int world_size) {
  if (ranks < 2 && world_size > 1)
    throw InputError("a rank that shares its shards with nobody shards nothing",
                     "use strategy ddp, or write fsdp: {shard_group: RANKS}");
  if (world_size % ranks != 0)
    throw InputError(fmt::format("{} ranks are not groups of {}", world_size, ranks),
                     "the ranks of a shard group divide those of the world");
}

std::vector<std::vector<int>> add_mesh(std::span<const CommunicatorUse> uses, int shards,
                                       std::span<const int> gpu_of_rank, Communication& communication) {
  auto world = static_cast<int>(gpu_of_rank.size());
  std::vector<std::vector<int>> all;
  communication.axes.clear();
  for (const auto& use : uses) {
    auto groups = groups_of(use, shards, world);
    if (groups.front().size() == 1) continue;
    auto axis = static_cast<int>(communication.axes.size());
    auto& added = communication.axes.emplace_back(CommunicatorAxis{use.axis, use.operations, all.size()});
    if (use.joined != Joined::all && use.joined != Joined::listed)
      added.stride = groups.front()[1] - groups.front()[0];
    for (auto& group : groups) {
      auto& gpus = communication.groups.emplace_back();
      for (int rank : group) gpus.push_back(gpu_of_rank[static_cast<std::size_t>(rank)]);
      communication.labels.push_back(axis);
      all.push_back(std::move(group));
    }
  }
  return all;
}

void settle_labels(std::span<const std::vector<int>> groups, std::span<const RankPlace> places,
                   std::span<const std::size_t> program_of_rank, Communication& communication) {
  communication.labels = stable_labels(groups, communication.labels, kind_of_rank(places, program_of_rank));
}

std::vector<RankClass> mesh_classes(std::span<const std::vector<int>> groups,
                                    std::span<const RankPlace> places,
                                    std::span<const std::size_t> program_of_rank,
                                    const Communication& communication, bool is_folded) {
  // By group: the first of those it is folded with.
  std::vector<std::size_t> stands_for(groups.size());
  std::iota(stands_for.begin(), stands_for.end(), std::size_t{0});
  if (is_folded && communication.folded)
    for (const auto& folded : communication.folded->groups)
      for (auto member : folded.members) stands_for[member] = folded.members.front();
  std::vector<std::vector<std::size_t>> communicators(places.size());
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (int rank : groups[g]) communicators[static_cast<std::size_t>(rank)].push_back(stands_for[g]);
  std::map<std::tuple<std::size_t, double, std::vector<std::size_t>>, std::size_t> known;
  std::vector<RankClass> classes;
  for (std::size_t rank = 0; rank < places.size(); ++rank) {
    double slowdown = places[rank].slowdown;
    auto program = program_of(program_of_rank, rank);
    auto [it, is_new] = known.try_emplace({program, slowdown, communicators[rank]}, classes.size());
    if (is_new) classes.push_back({static_cast<int>(rank), 0, slowdown, std::move(communicators[rank])});
    auto& one = classes[it->second];
    one.program = program;
    ++one.ranks;
    if (slowdown > 1) one.stragglers.push_back(static_cast<int>(rank));
  }
  for (auto& one : classes)
    if (one.stragglers.size() > kMostNamedStragglers) one.stragglers.clear();
  return classes;
}

}  // namespace ddpsim
