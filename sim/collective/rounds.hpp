#pragma once
// MPI's algorithms: rounds of messages. In a round all messages leave at once, each with what its rank had
// when the round began; a rank with several shares its link among them. Rank 0 is the root. Each names what
// Open MPI calls it; which rank sends to which is Open MPI's choice as well (ompi/mca/coll/base, v5.0.10), as
// it decides over which links the large messages go.
#include <vector>

#include "sim/collective/algorithms.hpp"

namespace ddpsim {

struct RoundMessage {
  int from = 0;
  int to = 0;
  Part piece = {};  // of the buffer
  bool reduce = false;
};
using Round = std::vector<RoundMessage>;
using Rounds = std::vector<Round>;

// Each round a stage, one after the other.
CollectiveSchedule in_rounds(std::string algorithm, Operation operation, const Wiring& wiring,
                             const Rounds& rounds);
// The same the other way round: what a broadcast hands out is reduced, what a scatter hands out is gathered.
Rounds mirrored(Rounds rounds, bool reduce);

// Of a broadcast of the whole buffer from rank 0.
Rounds linear_rounds(int ranks);    // to all at once
Rounds chain_rounds(int ranks);     // each rank to the next, all of it
Rounds binary_rounds(int ranks);    // a level of the binary tree a round
Rounds binomial_rounds(int ranks);  // in round k ranks below 2^k to those 2^k further on
// Ranks of a subtree follow one another: the largest distance first, to radix - 1 ranks at once.
Rounds knomial_rounds(int ranks, int radix);
// A binomial scatter, then an all-gather: recursive doubling, or Bruck's where ranks are no power of two.
Rounds scatter_all_gather_rounds(int ranks);

// Of a scatter from rank 0: what a subtree of the binomial tree needs goes to its root.
Rounds scatter_rounds(int ranks);

// Of an all-reduce: the whole buffer between ranks at distance 1, 2, 4 ... Of the first ranks as many pairs
// as are beyond the largest power of two add theirs up first, and share the result at the end.
Rounds doubling_all_reduce_rounds(int ranks);

// Of an all-gather. Recursive doubling takes a power of two, neighbour exchange an even number of ranks.
Rounds doubling_all_gather_rounds(int ranks);
Rounds bruck_all_gather_rounds(int ranks);
Rounds neighbor_exchange_rounds(int ranks);

// Of a reduce-scatter: halves of what is left between ranks at half the distance. Of the first ranks as many
// pairs as are beyond the largest power of two act as one.
Rounds halving_rounds(int ranks);

// Of an all-to-all, in slots (slots.hpp): each round to one rank; or in log2 rounds what has further to go.
Rounds pairwise_rounds(int ranks);
Rounds bruck_all_to_all_rounds(int ranks);

}  // namespace ddpsim
