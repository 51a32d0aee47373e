// The ring schedule is right for every size, and the verifier that says so finds what is wrong.
#include "sim/collective/verify.hpp"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "sim/base/check.hpp"
#include "sim/collective/schedule.hpp"

#include "tests/collective/rings.hpp"

namespace ddpsim {
namespace {

using testing::RingLinks;

std::string error_of(const CollectiveSchedule& schedule) {
  return find_schedule_error(schedule).value_or("none");
}

class RingOf : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, RingOf, ::testing::Range(2, 25), ::testing::PrintToStringParamName());

TEST_P(RingOf, ReducesEveryContributionOnce) {
  EXPECT_EQ(error_of(RingLinks(GetParam()).all_reduce()), "none");
}

TEST_P(RingOf, Shape) {
  int n = GetParam();
  auto schedule = RingLinks(n).all_reduce();
  EXPECT_EQ(schedule.algorithm, "ring");
  EXPECT_EQ(schedule.ranks, n);
  EXPECT_EQ(schedule.links.size(), static_cast<std::size_t>(n));
  ASSERT_EQ(schedule.stages.size(), 1U);
  const Stage& stage = schedule.stages[0];
  EXPECT_EQ(stage.steps, 2 * (n - 1));
  EXPECT_EQ(stage.chunks, n);
  ASSERT_EQ(stage.rings.size(), 1U);
  for (int r = 0; r < n; ++r) {
    const Edge& edge = stage.rings[0].edges.at(static_cast<std::size_t>(r));
    EXPECT_EQ(edge.from, r);
    EXPECT_EQ(edge.to, (r + 1) % n);
    EXPECT_EQ(edge.route, std::vector<int>{r});
  }
}

// Each rank sends one chunk of S/n bytes a step: 2 (n-1)/n S, the least an all-reduce can do; of the n chunks
// a rank sends n-1 while reducing and n-1 while gathering, each once.
TEST_P(RingOf, BytesPerRank) {
  int n = GetParam();
  auto stage = RingLinks(n).all_reduce().stages[0];
  double bytes = 26214400;
  EXPECT_DOUBLE_EQ(stage.steps * (bytes / stage.chunks), 2.0 * (n - 1) / n * bytes);
  for (int position = 0; position < n; ++position) {
    std::vector<int> reduced(static_cast<std::size_t>(n)), copied(static_cast<std::size_t>(n));
    for (int step = 0; step < stage.steps; ++step) {
      auto [chunk, reduce] = ring_transfer(stage.operation, n, position, step);
      ++(reduce ? reduced : copied).at(static_cast<std::size_t>(chunk));
    }
    EXPECT_EQ(std::count(reduced.begin(), reduced.end(), 1), n - 1);
    EXPECT_EQ(std::count(copied.begin(), copied.end(), 1), n - 1);
    EXPECT_EQ(std::count(reduced.begin(), reduced.end(), 0), 1);
    EXPECT_EQ(std::count(copied.begin(), copied.end(), 0), 1);
  }
}

// What a rank passes on is what it received in the step before.
TEST_P(RingOf, AChunkTravelsOn) {
  int n = GetParam();
  for (int position = 0; position < n; ++position)
    for (int step = 0; step + 1 < 2 * (n - 1); ++step)
      EXPECT_EQ(ring_transfer(Operation::all_reduce, n, position, step).chunk,
                ring_transfer(Operation::all_reduce, n, (position + 1) % n, step + 1).chunk);
}

// The ring may visit the ranks in any order and start anywhere.
TEST_P(RingOf, AnyOrderOfRanks) {
  int n = GetParam();
  std::vector<int> order;
  for (int r = 0; r < n; ++r) order.push_back(r);
  std::mt19937_64 random(static_cast<std::uint64_t>(n));  // the seed is the number of ranks
  std::shuffle(order.begin(), order.end(), random);
  auto schedule = RingLinks(n).all_reduce();
  auto& edges = schedule.stages[0].rings[0].edges;
  for (std::size_t i = 0; i < edges.size(); ++i) {
    edges[i].from = order[i];
    edges[i].to = order[(i + 1) % order.size()];
  }
  EXPECT_EQ(error_of(schedule), "none");
}

// Without the last gather step of four ranks: position p gathers chunks p, p-1 and misses p-2 = p+2, which
// still holds the sum of what passed through: for rank 0 the chunk 2 that came by in the reduce steps from
// ranks 2 and 3, with its own, so without rank 1.
TEST(Verifier, AMissingStep) {
  auto schedule = RingLinks(4).all_reduce();
  --schedule.stages[0].steps;
  EXPECT_EQ(error_of(schedule), "rank 0, chunk 2: contribution of rank 1 counted 0 times");
}

TEST_P(RingOf, AnyMissingStepIsFound) {
  auto schedule = RingLinks(GetParam()).all_reduce();
  while (schedule.stages[0].steps-- > 0) EXPECT_NE(error_of(schedule), "none") << schedule.stages[0].steps;
}

// Steps 0 to 2n-3 do all there is to do; one more would copy finished chunks over finished chunks.
TEST_P(RingOf, AStepTooMany) {
  auto schedule = RingLinks(GetParam()).all_reduce();
  int steps = schedule.stages[0].steps++;
  EXPECT_EQ(error_of(schedule), "step " + std::to_string(steps) + " changes nothing");
}

// Two ranks that go on reducing: step 0 completes chunk 1 of rank 0 and chunk 0 of rank 1; step 1 adds that
// chunk 0 to the one rank 0 still holds, so rank 0's own contribution is in it twice.
TEST(Verifier, AReduceStepTooMany) {
  auto schedule = RingLinks(2).all_reduce();
  schedule.stages[0].operation = Operation::reduce_scatter;
  EXPECT_EQ(error_of(schedule), "rank 0, chunk 0: contribution of rank 0 counted 2 times");
}

// Chunks sent in the order of the all-gather from the start are copied and never summed: in step 0 rank 2
// sends its chunk 3 = 0 to rank 0, over rank 0's own.
TEST(Verifier, TheWrongOrderOfChunks) {
  auto schedule = RingLinks(3).all_reduce();
  schedule.stages[0].operation = Operation::all_gather;
  schedule.stages[0].steps = 2;
  EXPECT_EQ(error_of(schedule), "rank 0, chunk 0: contribution of rank 0 counted 0 times");
}

TEST(Verifier, EdgesInTheWrongOrder) {
  auto schedule = RingLinks(4).all_reduce();
  auto& edges = schedule.stages[0].rings[0].edges;
  std::swap(edges[1], edges[2]);
  EXPECT_EQ(error_of(schedule), "edge 0 does not lead into the next");
}

TEST(Verifier, ARingThatDoesNotClose) {
  auto schedule = RingLinks(4).all_reduce();
  schedule.stages[0].rings[0].edges[3].to = 1;
  EXPECT_EQ(error_of(schedule), "edge 3 does not lead into the next");
}

// 0 -> 1 -> 0 -> 1 closes and has four edges, but ranks 2 and 3 are not on it.
TEST(Verifier, ARingThatVisitsARankTwice) {
  auto schedule = RingLinks(4).all_reduce();
  auto& edges = schedule.stages[0].rings[0].edges;
  for (std::size_t i = 0; i < 4; ++i) {
    edges[i].from = static_cast<int>(i % 2);
    edges[i].to = static_cast<int>((i + 1) % 2);
  }
  EXPECT_NE(error_of(schedule), "none");
}

TEST(Verifier, ARankThatDoesNotExist) {
  for (int rank : {-1, 4}) {
    auto schedule = RingLinks(4).all_reduce();
    auto& edges = schedule.stages[0].rings[0].edges;
    edges[1].to = edges[2].from = rank;
    EXPECT_EQ(error_of(schedule), "edge 2 starts at rank " + std::to_string(rank) + " of 4");
  }
}

TEST(Verifier, CountsThatDoNotFit) {
  auto missing_edge = RingLinks(4).all_reduce();
  missing_edge.stages[0].rings[0].edges.pop_back();
  EXPECT_EQ(error_of(missing_edge), "3 edges and 4 chunks for 4 ranks");
  auto few_chunks = RingLinks(4).all_reduce();
  few_chunks.stages[0].chunks = 3;
  EXPECT_EQ(error_of(few_chunks), "4 edges and 3 chunks for 4 ranks");
}

TEST(Verifier, OneStageOfOneRing) {
  auto schedule = RingLinks(4).all_reduce();
  schedule.stages.push_back(schedule.stages[0]);
  EXPECT_THROW((void)find_schedule_error(schedule), InternalError);
}

TEST(RingAllReduce, NeedsTwoRanksAndALinkForEach) {
  EXPECT_THROW(RingLinks(1).all_reduce(), InternalError);
  RingLinks links(4);
  links.bandwidths.pop_back();
  EXPECT_THROW(links.all_reduce(), InternalError);
}

}  // namespace
}  // namespace ddpsim
