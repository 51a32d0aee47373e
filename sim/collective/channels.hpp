#pragma once
// What the algorithms are put together from: edges along a wiring's paths, rings and trees over some ranks.
#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "sim/collective/algorithms.hpp"

namespace ddpsim {

Edge edge_along(Path path, int from, int to);
// A ring through the ranks in this order; at least two.
Channel ring_channel(const Wiring& wiring, std::span<const int> ranks, Part part);

// A tree over n places, as each one's parent.
using Parents = std::vector<int>;
constexpr int no_parent = -1;  // the root's
// Edges from the deepest place to the root.
int height(const Parents& tree);
// The two trees of double_binary_tree.
std::array<Parents, 2> double_binary_trees(int n);

// By place: the edges of a channel that bring something there.
using Arrivals = std::vector<std::vector<int>>;
// Adds the edges that reduce a piece of every chunk up to the root of a tree over these ranks, and hand it
// down again. What a rank sends up also waits for the edges in `own`, if any. Returns which edges bring the
// sum.
Arrivals add_tree(const Wiring& wiring, std::span<const int> ranks, const Parents& tree, Part piece,
                  Channel& channel, Arrivals own = {});
// Two trees over these ranks, each on half of every chunk.
Channel tree_channel(const Wiring& wiring, std::span<const int> ranks, const std::array<Parents, 2>& trees,
                     Part part);

// The number of ranks in each node. Throws InputError where they differ.
int ranks_per_node(const Wiring& wiring, std::string_view algorithm);
// Whether every number from 0 to n-1 is there once.
bool is_permutation_of(std::span<const int> order, int n);

}  // namespace ddpsim
