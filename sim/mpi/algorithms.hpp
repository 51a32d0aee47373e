#pragma once
// The algorithms that Open MPI's module tuned picks from, and as which of them they are timed.
#include <array>
#include <string_view>

#include "sim/base/names.hpp"

namespace ddpsim::mpi {

enum class Algorithm {
  linear,
  linear_sync,
  linear_nb,
  chain,
  pipeline,
  split_binary,
  binary,
  in_order_binary,
  binomial,
  knomial,
  scatter_allgather,
  nonoverlapping,
  recursive_doubling,
  recursive_halving,
  butterfly,
  ring,
  segmented_ring,
  rabenseifner,
  bruck,
  neighbor_exchange,
  two_proc,
  pairwise
};

struct AlgorithmTraits {
  Algorithm algorithm;
  std::string_view name;  // Open MPI's, the same for every operation
  Algorithm timed_as;     // itself, or the one that is built and comes nearest
  std::string_view why;   // where that is another one; of one that takes something else, what its time is
  bool is_the_same;       // or takes the same by the alpha-beta model
};

// What the decision functions pass on is segments of 0 bytes: nothing is cut.
inline constexpr std::array kAlgorithms{
    AlgorithmTraits{Algorithm::linear, "linear", Algorithm::linear, "", true},
    AlgorithmTraits{Algorithm::linear_sync, "linear_sync", Algorithm::linear,
                    "without the handshakes before its messages", false},
    AlgorithmTraits{Algorithm::linear_nb, "linear_nb", Algorithm::linear, "as if none of its sends blocked",
                    false},
    AlgorithmTraits{Algorithm::chain, "chain", Algorithm::chain, "", true},
    AlgorithmTraits{Algorithm::pipeline, "pipeline", Algorithm::chain, "without segments it is a chain",
                    true},
    AlgorithmTraits{Algorithm::split_binary, "split_binary_tree", Algorithm::binary,
                    "a binary tree's: its halves, each down a side of the tree, are left out", false},
    AlgorithmTraits{Algorithm::binary, "binary_tree", Algorithm::binary, "", true},
    AlgorithmTraits{Algorithm::in_order_binary, "in-order_binary", Algorithm::binary,
                    "a binary tree's: its last message, to the root, is left out", false},
    AlgorithmTraits{Algorithm::binomial, "binomial", Algorithm::binomial, "", true},
    AlgorithmTraits{Algorithm::knomial, "knomial", Algorithm::knomial, "", true},
    AlgorithmTraits{Algorithm::scatter_allgather, "scatter_allgather", Algorithm::scatter_allgather, "",
                    true},
    AlgorithmTraits{Algorithm::nonoverlapping, "nonoverlapping", Algorithm::nonoverlapping, "", true},
    AlgorithmTraits{Algorithm::recursive_doubling, "recursive_doubling", Algorithm::recursive_doubling, "",
                    true},
    AlgorithmTraits{Algorithm::recursive_halving, "recursive_halving", Algorithm::recursive_halving, "",
                    true},
    AlgorithmTraits{Algorithm::butterfly, "butterfly", Algorithm::recursive_halving,
                    "recursive halving's: its last messages, parts to their ranks, are left out", false},
    AlgorithmTraits{Algorithm::ring, "ring", Algorithm::ring, "", true},
    AlgorithmTraits{Algorithm::segmented_ring, "segmented_ring", Algorithm::ring,
                    "without segments it is a ring", true},
    AlgorithmTraits{Algorithm::rabenseifner, "rabenseifner", Algorithm::rabenseifner, "", true},
    AlgorithmTraits{Algorithm::bruck, "bruck", Algorithm::bruck, "", true},
    AlgorithmTraits{Algorithm::neighbor_exchange, "neighbor", Algorithm::neighbor_exchange, "", true},
    AlgorithmTraits{Algorithm::two_proc, "two_proc", Algorithm::pairwise, "two ranks exchange once", true},
    AlgorithmTraits{Algorithm::pairwise, "pairwise", Algorithm::pairwise, "", true}};
static_assert(has_each_in_order(kAlgorithms, &AlgorithmTraits::algorithm, Algorithm::pairwise));

constexpr const AlgorithmTraits& traits_of(Algorithm algorithm) {
  return kAlgorithms.at(static_cast<std::size_t>(algorithm));
}

}  // namespace ddpsim::mpi
