// The double binary tree.
#include <algorithm>
#include <numeric>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/collective/algorithms.hpp"
#include "sim/collective/channels.hpp"

namespace ddpsim {
namespace {

constexpr int no_parent = -1;

// The tree in which 1, 3, 5 ... are leaves and a rank's lowest set bit is its height: xx01 and xx11 hang from
// xx10, and where that is no rank, xx01 from xx00 (NCCL's src/graph/trees.cc: ncclGetBtree). Rank 0 is root.
int parent_in_first_tree(int n, int rank) {
  if (rank == 0) return no_parent;
  int bit = rank & -rank;
  int above = (rank ^ bit) | (bit << 1);
  return above < n ? above : rank ^ bit;
}

// The same tree mirrored, or for an odd n shifted by one, so that the leaves are inner ranks here
// (ncclGetDtree). For an odd n the last rank's place falls to rank 0, the other tree's root; it has one child
// in each, so no more to send than the others.
int parent_in_second_tree(int n, int rank) {
  bool mirror = n % 2 == 0;
  int parent = parent_in_first_tree(n, mirror ? n - 1 - rank : (rank + n - 1) % n);
  if (parent == no_parent) return no_parent;
  return mirror ? n - 1 - parent : (parent + 1) % n;
}

int height(const std::vector<int>& parents) {
  int highest = 0;
  for (int parent : parents) {
    int levels = 0;
    for (; parent != no_parent; parent = parents[parent]) ++levels;
    highest = std::max(highest, levels);
  }
  return highest;
}

// Where a tree's edges stand in its channel: from `first` on those towards the root by child, then those away
// from it.
struct EdgeIndex {
  int first;
  int root;
  int n;
  [[nodiscard]] int up(int child) const { return first + (child < root ? child : child - 1); }
  [[nodiscard]] int down(int child) const { return n - 1 + up(child); }
};

Edge pass_on(const Wiring& wiring, int from, int to, bool reduce, Part piece, std::vector<int> inputs) {
  Edge edge = edge_along(wiring.path(from, to), from, to);
  edge.reduce = reduce;
  edge.piece = piece;
  edge.inputs = std::move(inputs);
  return edge;
}

// The tree carries its piece of every chunk.
void add_tree(const Wiring& wiring, std::span<const int> ranks, const std::vector<int>& parents, Part piece,
              Channel& channel) {
  int n = static_cast<int>(ranks.size());
  int root = static_cast<int>(std::find(parents.begin(), parents.end(), no_parent) - parents.begin());
  EdgeIndex index{static_cast<int>(channel.edges.size()), root, n};
  std::vector<std::vector<int>> arrivals(n);  // the edges from each one's children
  for (int child = 0; child < n; ++child)
    if (child != root) arrivals[parents[child]].push_back(index.up(child));

  channel.depth = std::max(channel.depth, 2 * height(parents));
  for (int child = 0; child < n; ++child)
    if (child != root)
      channel.edges.push_back(
          pass_on(wiring, ranks[child], ranks[parents[child]], true, piece, arrivals[child]));
  for (int child = 0; child < n; ++child)
    if (int parent = parents[child]; child != root)
      channel.edges.push_back(pass_on(wiring, ranks[parent], ranks[child], false, piece,
                                      parent == root ? arrivals[root] : std::vector{index.down(parent)}));
}

std::vector<int> all_parents(int n, int (*parent)(int n, int rank)) {
  std::vector<int> parents;
  parents.reserve(n);
  for (int rank = 0; rank < n; ++rank) parents.push_back(parent(n, rank));
  return parents;
}

}  // namespace

Channel double_tree_channel(const Wiring& wiring, std::span<const int> ranks, Part part) {
  int n = static_cast<int>(ranks.size());
  Channel channel{Pattern::pipeline, part, {}, 0};
  channel.edges.reserve(4 * (n - 1));
  add_tree(wiring, ranks, all_parents(n, parent_in_first_tree), {0, 2}, channel);
  add_tree(wiring, ranks, all_parents(n, parent_in_second_tree), {1, 2}, channel);
  return channel;
}

CollectiveSchedule double_binary_tree(const Wiring& wiring, int channels) {
  DDPSIM_CHECK(channels >= 1, "at least one channel");
  CollectiveSchedule schedule{"tree", Operation::all_reduce, wiring.ranks, {}};
  if (wiring.ranks == 1) return schedule;
  std::vector<int> ranks(wiring.ranks);
  std::iota(ranks.begin(), ranks.end(), 0);
  Stage stage{Operation::all_reduce, {}};
  for (int c = 0; c < channels; ++c)
    stage.channels.push_back(double_tree_channel(wiring, ranks, {c, channels}));
  schedule.stages.push_back(std::move(stage));
  return schedule;
}

}  // namespace ddpsim
