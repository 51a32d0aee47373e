#include "sim/topology/placement.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <random>
#include <utility>

#include <fmt/core.h>

#include "sim/base/check.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/limits.hpp"

namespace ddpsim {
namespace {

// Uniform in [0, bound), the same on every platform (std::uniform_int_distribution is not): draws from the
// incomplete last block of `bound` values are thrown away.
std::uint64_t below(std::uint64_t bound, std::mt19937_64& draw) {
  std::uint64_t unusable = (std::numeric_limits<std::uint64_t>::max() % bound + 1) % bound;
  std::uint64_t last = std::numeric_limits<std::uint64_t>::max() - unusable;
  std::uint64_t value = draw();
  while (value > last) value = draw();
  return value % bound;
}

// Fisher and Yates' shuffle, from the back.
void shuffle(std::vector<int>& things, std::uint64_t seed) {
  std::mt19937_64 draw(seed);
  for (std::size_t i = things.size(); i > 1; --i) std::swap(things[i - 1], things[below(i, draw)]);
}

// The first GPU of each node, then the second of each that has one, and so on.
std::vector<int> deal(const Cluster& cluster, const std::vector<int>& gpus) {
  std::vector<std::vector<int>> rounds;  // GPUs by position in their node
  for (int gpu : gpus) {
    auto position = static_cast<std::size_t>(cluster.position_of(gpu));
    if (rounds.size() <= position) rounds.resize(position + 1);
    rounds[position].push_back(gpu);
  }
  std::vector<int> dealt;
  for (const auto& round : rounds) dealt.insert(dealt.end(), round.begin(), round.end());
  return dealt;
}

// The GPUs of the nodes that a scheduler gives the job, ascending.
std::vector<int> allocate(const Placement& placement, const Cluster& cluster, int world_size,
                          const std::set<int>& broken) {
  auto needed = static_cast<std::size_t>(world_size);
  std::vector<std::vector<int>> of_node(static_cast<std::size_t>(cluster.nodes()));
  for (int gpu = 0; gpu < cluster.gpus(); ++gpu)
    if (cluster.position_of(gpu) < placement.of_node)
      of_node[static_cast<std::size_t>(cluster.node_of(gpu))].push_back(gpu);
  std::vector<int> nodes;
  for (int node = 0; node < cluster.nodes(); ++node)
    if (!broken.contains(node)) nodes.push_back(node);
  if (placement.kind == PlacementKind::random_nodes) shuffle(nodes, placement.seed);
  std::size_t available = 0, taken = 0;
  while (available < needed && taken < nodes.size())
    available += of_node[static_cast<std::size_t>(nodes[taken++])].size();
  if (available < needed)
    throw InputError(
        fmt::format("{} of {} {} broken, and the others have {} for {} ranks", broken.size(),
                    counted(cluster.nodes(), "node"), broken.size() == 1 ? "is" : "are",
                    counted(static_cast<int>(available), "GPU"), world_size),
        "a job runs on whole nodes only: cluster.nodes says how many nodes there are, spare ones among them");
  std::sort(nodes.begin(), nodes.begin() + static_cast<std::ptrdiff_t>(taken));
  std::vector<int> gpus;
  for (std::size_t i = 0; i < taken; ++i) {
    const auto& own = of_node[static_cast<std::size_t>(nodes[i])];
    gpus.insert(gpus.end(), own.begin(), own.end());
  }
  gpus.resize(needed);
  return gpus;
}

}  // namespace

int usual_domain_gpus(int world_size, int of_rack) {
  int taken = static_cast<int>(std::bit_floor(static_cast<unsigned>(of_rack)));
  bool fills_all = world_size <= of_rack || world_size % of_rack == 0;
  bool are_too_many = (world_size + taken - 1) / taken > kLargestWorldSize / of_rack;
  return fills_all || are_too_many ? of_rack : taken;
}

int gpus_of_nodes(int world_size, int taken, int of_node) {
  return taken == of_node ? world_size : (world_size + taken - 1) / taken * of_node;
}

std::vector<int> place_ranks(const Placement& placement, const Cluster& cluster, int world_size,
                             const std::set<int>& broken) {
  DDPSIM_CHECK(world_size >= 1 && world_size <= cluster.gpus(), "more ranks than GPUs");
  std::vector<int> gpus;
  if (placement.kind == PlacementKind::random_nodes || !broken.empty())
    gpus = allocate(placement, cluster, world_size, broken);
  for (int gpu = 0; gpu < cluster.gpus() && static_cast<int>(gpus.size()) < world_size; ++gpu)
    if (cluster.position_of(gpu) < placement.of_node) gpus.push_back(gpu);
  DDPSIM_CHECK(static_cast<int>(gpus.size()) == world_size, "the nodes have the GPUs that the job takes");
  if (placement.kind == PlacementKind::round_robin) return deal(cluster, gpus);
  if (placement.kind == PlacementKind::random) shuffle(gpus, placement.seed);
  return gpus;
}

}  // namespace ddpsim
