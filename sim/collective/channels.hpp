#pragma once
// What the algorithms are put together from: edges along a wiring's paths, rings and trees over some ranks.
#include <span>
#include <string_view>
#include <vector>

#include "sim/collective/algorithms.hpp"

namespace ddpsim {

Edge edge_along(Path path, int from, int to);
// A ring through the ranks in this order; at least two.
Channel ring_channel(const Wiring& wiring, std::span<const int> ranks, Part part);
// The two trees of double_binary_tree over these ranks, each on half of every chunk.
Channel double_tree_channel(const Wiring& wiring, std::span<const int> ranks, Part part);

// The number of ranks in each node. Throws InputError where they differ.
int ranks_per_node(const Wiring& wiring, std::string_view algorithm);
// Whether every number from 0 to n-1 is there once.
bool is_permutation_of(std::span<const int> order, int n);

}  // namespace ddpsim
