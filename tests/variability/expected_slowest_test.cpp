// The mean of the slowest of many ranks, against tables of normal order statistics and against drawing them.
#include "sim/variability/expected_slowest.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "sim/variability/sampled_ranks.hpp"

namespace ddpsim {
namespace {

std::vector<AlikeNodes> alike(int ranks) {
  return {{{{1, ranks}}, 1}};
}

// E[max] of n standard normals: 0.5642 (1 / sqrt(pi)), 1.4236, 2.3437, 3.0439 (Harter 1961 for the first
// three). Small spreads of log-normal factors are normal ones.
TEST(ExpectedSlowest, OrderStatisticsOfNormals) {
  constexpr double kSmall = 1e-5;
  for (auto [ranks, expected] : {std::pair(2, 0.56419), {8, 1.42360}, {64, 2.34373}, {512, 3.04390}})
    EXPECT_NEAR((expected_slowest(alike(ranks), kSmall, 0) - 1) / kSmall, expected, 2e-4) << ranks;
}

TEST(ExpectedSlowest, NothingVaries) {
  EXPECT_EQ(expected_slowest(alike(8), 0, 0), 1);
  EXPECT_EQ(expected_slowest(std::vector<AlikeNodes>{{{{1, 7}, {1.5, 1}}, 1}}, 0, 0), 1.5);
}

// A rank known to be slow beforehand is the slowest unless the spread says otherwise.
TEST(ExpectedSlowest, KnownBeforehand) {
  std::vector<AlikeNodes> far{{{{1, 7}, {1.5, 1}}, 1}}, near{{{{1, 7}, {1.01, 1}}, 1}};
  EXPECT_NEAR(expected_slowest(far, 0.02, 0), 1.5, 0.001);
  double least = expected_slowest(alike(8), 0.02, 0);
  EXPECT_GT(expected_slowest(near, 0.02, 0), least);
  EXPECT_LT(expected_slowest(near, 0.02, 0), 1.01 * least);
}

// The mean over many runs in which all ranks, and nodes, are drawn.
TEST(ExpectedSlowest, AsDrawn) {
  for (auto [of_ranks, of_nodes, ranks, ranks_of_node] :
       {std::tuple(0.02, 0.0, 64, 8), {0.0, 0.03, 64, 8}, {0.02, 0.03, 64, 8}, {0.05, 0.01, 1024, 4}}) {
    std::vector<RankPlace> places;
    for (int rank = 0; rank < ranks; ++rank) places.push_back({1, rank / ranks_of_node, 0});
    double sum = 0, squares = 0;
    constexpr int kRuns = 400;
    for (int run = 0; run < kRuns; ++run) {
      Variability variability;
      variability.seed = static_cast<std::uint64_t>(run);
      variability.iterations = 1;
      if (of_ranks > 0) variability.ranks = LogNormal{of_ranks};
      if (of_nodes > 0) variability.nodes = LogNormal{of_nodes};
      double slowest = sample_ranks(variability, places).slowest[0][0].slowdown;
      sum += slowest;
      squares += slowest * slowest;
    }
    double mean = sum / kRuns, error = std::sqrt((squares / kRuns - mean * mean) / kRuns);
    std::vector<AlikeNodes> nodes{{{{1, ranks_of_node}}, ranks / ranks_of_node}};
    EXPECT_NEAR(expected_slowest(nodes, of_ranks, of_nodes), mean, 4 * error) << of_ranks << ' ' << of_nodes;
  }
}

}  // namespace
}  // namespace ddpsim
