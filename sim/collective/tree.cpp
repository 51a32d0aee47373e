// The double binary tree.
#include <algorithm>
#include <numeric>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/collective/algorithms.hpp"
#include "sim/collective/channels.hpp"

namespace ddpsim {
namespace {

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

// Where a tree's edges stand in its channel: from `first` on those towards the root by child, then those away
// from it.
struct EdgeIndex {
  int first;
  int root;
  int n;
  [[nodiscard]] int up(int child) const { return first + (child < root ? child : child - 1); }
  [[nodiscard]] int down(int child) const { return n - 1 + up(child); }
};

Edge pass_on(const Wiring& wiring, int from, int to, bool reduce, Part piece, std::span<const int> inputs) {
  Edge edge = edge_along(wiring.path(from, to), from, to);
  edge.reduce = reduce;
  edge.piece = piece;
  edge.inputs.assign(inputs.begin(), inputs.end());
  return edge;
}

}  // namespace

int height(const Parents& tree) {
  int highest = 0;
  for (int parent : tree) {
    int levels = 0;
    for (; parent != no_parent; parent = tree[parent]) ++levels;
    highest = std::max(highest, levels);
  }
  return highest;
}

std::array<Parents, 2> double_binary_trees(int n) {
  std::array<Parents, 2> trees;
  for (int place = 0; place < n; ++place) {
    trees[0].push_back(parent_in_first_tree(n, place));
    trees[1].push_back(parent_in_second_tree(n, place));
  }
  return trees;
}

Arrivals add_tree(const Wiring& wiring, std::span<const int> ranks, const Parents& tree, Part piece,
                  Channel& channel, Arrivals own) {
  int n = static_cast<int>(ranks.size());
  int root = static_cast<int>(std::find(tree.begin(), tree.end(), no_parent) - tree.begin());
  EdgeIndex index{static_cast<int>(channel.edges.size()), root, n};
  Arrivals contributions = std::move(own);  // and, from here on, those of each one's children
  contributions.resize(n);
  for (int child = 0; child < n; ++child)
    if (child != root) contributions[tree[child]].push_back(index.up(child));

  Arrivals sums(n);
  for (int child = 0; child < n; ++child)
    if (child != root)
      channel.edges.push_back(
          pass_on(wiring, ranks[child], ranks[tree[child]], true, piece, contributions[child]));
  for (int child = 0; child < n; ++child)
    if (int parent = tree[child]; child != root) {
      auto inputs = parent == root ? contributions[root] : std::vector{index.down(parent)};
      channel.edges.push_back(pass_on(wiring, ranks[parent], ranks[child], false, piece, inputs));
      sums[child] = {index.down(child)};
    }
  sums[root] = std::move(contributions[root]);
  return sums;
}

Channel tree_channel(const Wiring& wiring, std::span<const int> ranks, const std::array<Parents, 2>& trees,
                     Part part) {
  Channel channel{Pattern::pipeline, part, {}, 2 * std::max(height(trees[0]), height(trees[1]))};
  channel.edges.reserve(4 * (ranks.size() - 1));
  for (int t : {0, 1}) add_tree(wiring, ranks, trees[t], {t, 2}, channel);
  return channel;
}

CollectiveSchedule double_binary_tree(const Wiring& wiring, int channels) {
  DDPSIM_CHECK(channels >= 1, "at least one channel");
  CollectiveSchedule schedule{"tree", Operation::all_reduce, wiring.ranks, {}};
  if (wiring.ranks == 1) return schedule;
  std::vector<int> ranks(wiring.ranks);
  std::iota(ranks.begin(), ranks.end(), 0);
  auto trees = double_binary_trees(wiring.ranks);
  Stage stage{Operation::all_reduce, {}};
  for (int c = 0; c < channels; ++c)
    stage.channels.push_back(tree_channel(wiring, ranks, trees, {c, channels}));
  schedule.stages.push_back(std::move(stage));
  return schedule;
}

}  // namespace ddpsim
