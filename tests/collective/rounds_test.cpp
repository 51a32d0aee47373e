// MPI's algorithms as rounds of messages: what they do, and what they take where every message has a link of
// its own (wiring_of: a = 5 us, B = 12.5 GB/s).
#include "sim/collective/rounds.hpp"

#include <bit>
#include <functional>

#include <gtest/gtest.h>

#include "sim/collective/fold.hpp"
#include "sim/collective/time_alone.hpp"
#include "sim/collective/verify.hpp"

#include "tests/collective/wirings.hpp"

namespace ddpsim {
namespace {

using testing::wiring_of;

struct Algorithm {
  const char* name;
  Operation operation;
  std::function<Rounds(int)> rounds;
  std::function<bool(int)> takes = [](int) { return true; };
};

std::vector<Algorithm> all() {
  auto is_power = [](int n) { return std::has_single_bit(static_cast<unsigned>(n)); };
  auto is_even = [](int n) { return n % 2 == 0; };
  auto knomial = [](int n) { return knomial_rounds(n, 4); };
  std::vector<Algorithm> algorithms{
      {"recursive_doubling", Operation::all_reduce, doubling_all_reduce_rounds},
      {"recursive_doubling", Operation::all_gather, doubling_all_gather_rounds, is_power},
      {"bruck", Operation::all_gather, bruck_all_gather_rounds},
      {"neighbor_exchange", Operation::all_gather, neighbor_exchange_rounds, is_even},
      {"recursive_halving", Operation::reduce_scatter, halving_rounds},
      {"scatter_allgather", Operation::broadcast, scatter_all_gather_rounds},
      {"binomial", Operation::scatter, scatter_rounds},
      {"binomial", Operation::gather, [](int n) { return mirrored(scatter_rounds(n), false); }},
      {"pairwise", Operation::all_to_all, pairwise_rounds},
      {"bruck", Operation::all_to_all, bruck_all_to_all_rounds}};
  std::vector<std::pair<const char*, std::function<Rounds(int)>>> trees{{"linear", linear_rounds},
                                                                        {"chain", chain_rounds},
                                                                        {"binary", binary_rounds},
                                                                        {"binomial", binomial_rounds},
                                                                        {"knomial", knomial}};
  for (const auto& [name, rounds] : trees) {
    algorithms.push_back({name, Operation::broadcast, rounds});
    algorithms.push_back(
        {name, Operation::reduce, [rounds = rounds](int n) { return mirrored(rounds(n), true); }});
  }
  return algorithms;
}

TEST(Rounds, AreRightForAnyNumberOfRanks) {
  for (const auto& algorithm : all())
    for (int n = 2; n < 35; ++n) {
      if (!algorithm.takes(n)) continue;
      auto schedule = in_rounds(algorithm.name, algorithm.operation, wiring_of(1, n), algorithm.rounds(n));
      EXPECT_EQ(find_schedule_error(schedule).value_or("none"), "none")
          << algorithm.name << ' ' << operation_name(algorithm.operation) << " of " << n;
    }
}

TEST(Rounds, OfARankAloneAreNone) {
  for (const auto& algorithm : all()) {
    if (!algorithm.takes(1) || algorithm.name == std::string("neighbor_exchange")) continue;
    EXPECT_TRUE(algorithm.rounds(1).empty()) << algorithm.name;
  }
}

// Seconds for 8 ranks and m = 8 MB, nobody sharing a link.
double time_of(Operation operation, const Rounds& rounds) {
  auto schedule = in_rounds("test", operation, wiring_of(1, 8), rounds);
  auto plan = fold({{{&schedule, 0}}, {}, [](int) { return BytesPerSecond(12.5e9); }});
  return CollectiveTime(plan.groups[0].plan, plan.links)(Bytes(8e6)).value();
}

// m/B = 640 us. Recursive doubling: log2 8 = 3 rounds of all of it, 3 (5 + 640) us.
TEST(Rounds, TakeWhatTheTextbookSays) {
  const double a = 5e-6, m = 640e-6;
  EXPECT_NEAR(time_of(Operation::all_reduce, doubling_all_reduce_rounds(8)), 3 * (a + m), 1e-12);
  EXPECT_NEAR(time_of(Operation::broadcast, binomial_rounds(8)), 3 * (a + m), 1e-12);
  EXPECT_NEAR(time_of(Operation::broadcast, chain_rounds(8)), 7 * (a + m), 1e-12);
  EXPECT_NEAR(time_of(Operation::reduce, mirrored(binomial_rounds(8), true)), 3 * (a + m), 1e-12);
  // Of 8 ranks in a tree of radix 4: rank 0 to rank 4, then each of both to three more.
  EXPECT_NEAR(time_of(Operation::broadcast, knomial_rounds(8, 4)), 2 * (a + m), 1e-12);
  // Halves, quarters, eighths: 3 a + 7/8 m.
  EXPECT_NEAR(time_of(Operation::reduce_scatter, halving_rounds(8)), 3 * a + 7.0 / 8 * m, 1e-12);
  EXPECT_NEAR(time_of(Operation::all_gather, doubling_all_gather_rounds(8)), 3 * a + 7.0 / 8 * m, 1e-12);
  EXPECT_NEAR(time_of(Operation::scatter, scatter_rounds(8)), 3 * a + 7.0 / 8 * m, 1e-12);
  EXPECT_NEAR(time_of(Operation::broadcast, scatter_all_gather_rounds(8)), 6 * a + 14.0 / 8 * m, 1e-12);
  // A block, then three times two.
  EXPECT_NEAR(time_of(Operation::all_gather, neighbor_exchange_rounds(8)), 4 * a + 7.0 / 8 * m, 1e-12);
  EXPECT_NEAR(time_of(Operation::all_to_all, pairwise_rounds(8)), 7 * (a + m / 8), 1e-12);
  // Three rounds of half of the buffer.
  EXPECT_NEAR(time_of(Operation::all_to_all, bruck_all_to_all_rounds(8)), 3 * (a + m / 2), 1e-12);
}

// 6 ranks: two pairs add up first (1 and 3 stay for 0 and 2), then two rounds of four, then back.
TEST(Rounds, PairsStandForWhatIsBeyondAPowerOfTwo) {
  auto rounds = doubling_all_reduce_rounds(6);
  ASSERT_EQ(rounds.size(), 4U);
  EXPECT_EQ(rounds[0].size(), 2U);
  EXPECT_EQ(rounds[0][1].from, 2);
  EXPECT_EQ(rounds[0][1].to, 3);
  EXPECT_EQ(rounds[1].size(), 4U);
  EXPECT_EQ(rounds[3][1].from, 3);
}

TEST(Rounds, OfBinaryTreesLeadToTheChildrenOfOpenMpi) {
  auto rounds = binary_rounds(7);
  ASSERT_EQ(rounds.size(), 2U);
  std::vector<std::pair<int, int>> second;
  for (const auto& message : rounds[1]) second.emplace_back(message.from, message.to);
  EXPECT_EQ(second, (std::vector<std::pair<int, int>>{{1, 3}, {1, 5}, {2, 4}, {2, 6}}));
}

TEST(Rounds, VerifierSeesWhatIsWrong) {
  auto error_of = [](Operation operation, const Rounds& rounds) {
    return find_schedule_error(in_rounds("test", operation, wiring_of(1, 4), rounds)).value_or("none");
  };
  auto short_of = doubling_all_reduce_rounds(4);
  short_of.pop_back();
  EXPECT_EQ(error_of(Operation::all_reduce, short_of),
            "rank 0, piece 0 of 1: contribution of rank 2 counted 0 times");
  auto twice = linear_rounds(4);
  twice[0].push_back({1, 2});
  EXPECT_EQ(error_of(Operation::broadcast, twice),
            "stage 0, channel 0: ranks 0 and 1 deliver the same piece to rank 2");
  auto again = binomial_rounds(4);
  again.push_back({{0, 1}});
  EXPECT_EQ(error_of(Operation::broadcast, again), "stage 2, channel 0: an exchange that changes nothing");
  auto misplaced = pairwise_rounds(4);
  misplaced[0][0].piece = {2, 4};
  EXPECT_EQ(error_of(Operation::all_to_all, misplaced),
            "rank 1 has what rank 1 sends to rank 2, not what rank 0 sends to it");
  auto lost = scatter_rounds(4);
  lost[1].pop_back();
  EXPECT_EQ(error_of(Operation::scatter, lost),
            "rank 3, piece 3 of 4: contribution of rank 0 counted 0 times");
}

}  // namespace
}  // namespace ddpsim
