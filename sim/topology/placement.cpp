#include "sim/topology/placement.hpp"

#include <limits>
#include <numeric>
#include <random>
#include <utility>

#include "sim/base/check.hpp"

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
void shuffle(std::vector<int>& gpus, std::uint64_t seed) {
  std::mt19937_64 draw(seed);
  for (std::size_t i = gpus.size(); i > 1; --i) std::swap(gpus[i - 1], gpus[below(i, draw)]);
}

// The first GPU of each node, then the second of each that has one, and so on.
std::vector<int> deal(const Cluster& cluster, int world_size) {
  std::vector<std::vector<int>> rounds;  // GPUs by position in their node
  for (int gpu = 0; gpu < world_size; ++gpu) {
    auto position = static_cast<std::size_t>(cluster.position_of(gpu));
    if (rounds.size() <= position) rounds.resize(position + 1);
    rounds[position].push_back(gpu);
  }
  std::vector<int> gpus;
  for (const auto& round : rounds) gpus.insert(gpus.end(), round.begin(), round.end());
  return gpus;
}

}  // namespace

std::vector<int> place_ranks(const Placement& placement, const Cluster& cluster, int world_size) {
  DDPSIM_CHECK(world_size >= 1 && world_size <= cluster.gpus(), "more ranks than GPUs");
  if (placement.kind == PlacementKind::round_robin) return deal(cluster, world_size);
  std::vector<int> gpus(static_cast<std::size_t>(world_size));
  std::iota(gpus.begin(), gpus.end(), 0);
  if (placement.kind == PlacementKind::random) shuffle(gpus, placement.seed);
  return gpus;
}

}  // namespace ddpsim
