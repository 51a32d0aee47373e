// Open MPI's rules at their boundaries, read off coll_tuned_decision_fixed.c of v5.0.10 by hand.
#include "sim/mpi/decision.hpp"

#include <gtest/gtest.h>

namespace ddpsim::mpi {
namespace {

std::string_view runs(Operation operation, int ranks, double bytes) {
  return traits_of(choose(operation, ranks, Bytes(bytes)).runs).name;
}

// communicator_size < 16: below 8192 bytes 3, else 6. < 32: 64, 4096.
TEST(Decision, AllReduce) {
  EXPECT_EQ(runs(Operation::all_reduce, 8, 8191), "recursive_doubling");
  EXPECT_EQ(runs(Operation::all_reduce, 8, 8192), "rabenseifner");
  EXPECT_EQ(runs(Operation::all_reduce, 15, 8192), "rabenseifner");
  EXPECT_EQ(runs(Operation::all_reduce, 16, 4095), "recursive_doubling");
  EXPECT_EQ(runs(Operation::all_reduce, 16, 4096), "rabenseifner");
  EXPECT_EQ(runs(Operation::all_reduce, 2, 4096), "ring");
  EXPECT_EQ(runs(Operation::all_reduce, 3, 65536), "segmented_ring");
  EXPECT_EQ(runs(Operation::all_reduce, 3, 262144), "rabenseifner");
  EXPECT_EQ(runs(Operation::all_reduce, 200, 131071), "nonoverlapping");
  EXPECT_EQ(runs(Operation::all_reduce, 200, 131072), "recursive_doubling");
  EXPECT_EQ(runs(Operation::all_reduce, 100000, 32768), "rabenseifner");
}

// A ring of fewer elements than ranks is recursive doubling: 4 bytes, one float32, on 2 ranks.
TEST(Decision, RingsOfFewElementsAreRecursiveDoubling) {
  auto choice = choose(Operation::all_reduce, 2, Bytes(4));
  EXPECT_EQ(choice.picked, Algorithm::ring);
  EXPECT_EQ(choice.runs, Algorithm::recursive_doubling);
  EXPECT_EQ(choose(Operation::all_reduce, 4096, Bytes(2048)).runs, Algorithm::recursive_doubling);
  EXPECT_EQ(choose(Operation::all_reduce, 4096, Bytes(16384)).runs, Algorithm::recursive_doubling);
}

// scount is a rank's part: of 64 ranks and 64 x 65536 bytes it is 65536, from where on 4 (ring).
TEST(Decision, PartsCount) {
  EXPECT_EQ(runs(Operation::all_gather, 64, 64 * 65535.0), "neighbor");
  EXPECT_EQ(runs(Operation::all_gather, 64, 64 * 65536.0), "ring");
  EXPECT_EQ(runs(Operation::all_gather, 65, 65 * 65535.0), "ring");  // odd: no pairs of neighbours
  EXPECT_EQ(runs(Operation::all_gather, 8, 1e9), "recursive_doubling");
  EXPECT_EQ(runs(Operation::all_gather, 6, 1e9), "bruck");  // no power of two
  EXPECT_EQ(runs(Operation::all_gather, 2, 1e9), "two_proc");
  EXPECT_EQ(runs(Operation::reduce_scatter, 8, 8 * 524287.0), "recursive_halving");
  EXPECT_EQ(runs(Operation::reduce_scatter, 8, 8 * 524288.0), "linear");
  EXPECT_EQ(runs(Operation::reduce_scatter, 8, 8 * 4194304.0), "butterfly");
  EXPECT_EQ(runs(Operation::all_to_all, 16, 16 * 511.0), "bruck");
  EXPECT_EQ(runs(Operation::all_to_all, 16, 16 * 512.0), "linear_sync");
  EXPECT_EQ(runs(Operation::gather, 8, 1e6), "binomial");
  EXPECT_EQ(runs(Operation::gather, 4, 4 * 262144.0), "linear_sync");
  EXPECT_EQ(runs(Operation::scatter, 64, 64 * 511.0), "binomial");
  EXPECT_EQ(runs(Operation::scatter, 64, 64 * 512.0), "linear_nb");
}

TEST(Decision, BroadcastAndReduce) {
  EXPECT_EQ(runs(Operation::broadcast, 8, 7), "knomial");
  EXPECT_EQ(runs(Operation::broadcast, 8, 32767), "binomial");
  EXPECT_EQ(runs(Operation::broadcast, 8, 32768), "linear");
  EXPECT_EQ(runs(Operation::broadcast, 16, 1048576), "scatter_allgather");
  EXPECT_EQ(runs(Operation::broadcast, 4, 1048576), "chain");
  EXPECT_EQ(runs(Operation::reduce, 8, 8191), "binary_tree");
  EXPECT_EQ(runs(Operation::reduce, 8, 8192), "binomial");
  EXPECT_EQ(runs(Operation::reduce, 300, 8192), "in-order_binary");
}

TEST(Decision, EveryRuleCanHold) {
  for (const auto& row : kOperations) {
    auto rules = rules_of(row.operation);
    EXPECT_EQ(rules.empty(), row.operation == Operation::send_recv) << row.name;
    int above_ranks = 0;
    for (std::size_t i = 0; i < rules.size(); ++i) {
      if (i > 0 && rules[i].below_ranks == rules[i - 1].below_ranks) {
        EXPECT_GT(rules[i].below_bytes, rules[i - 1].below_bytes) << row.name << i;
      }
      EXPECT_GE(rules[i].below_ranks, above_ranks) << row.name << i;
      above_ranks = rules[i].below_ranks;
    }
  }
}

// Nobody is timed as something that is itself timed as another, and who is says why.
TEST(Decision, EveryAlgorithmIsTimedAsOneThatIsBuilt) {
  for (const auto& row : kAlgorithms) {
    const auto& timed = traits_of(row.timed_as);
    EXPECT_EQ(timed.timed_as, timed.algorithm) << row.name;
    EXPECT_EQ(row.why.empty(), row.timed_as == row.algorithm) << row.name;
  }
}

}  // namespace
}  // namespace ddpsim::mpi
