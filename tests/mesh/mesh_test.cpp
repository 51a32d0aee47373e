// Ranks as a grid, and which of its groups do the same at the same times.
#include "sim/mesh/mesh.hpp"

#include <gtest/gtest.h>

namespace ddpsim::testing {
namespace {

using Groups = std::vector<std::vector<int>>;

TEST(Mesh, GroupsAlongEachAxis) {
  Mesh mesh({{"shard", 2}, {"replica", 3}});
  EXPECT_EQ(mesh.ranks(), 6);
  EXPECT_EQ(mesh.groups(0), (Groups{{0, 1}, {2, 3}, {4, 5}}));
  EXPECT_EQ(mesh.groups(1), (Groups{{0, 2, 4}, {1, 3, 5}}));
}

TEST(Mesh, ThreeAxes) {
  Mesh mesh({{"tensor", 2}, {"pipeline", 2}, {"data", 2}});
  EXPECT_EQ(mesh.groups(0), (Groups{{0, 1}, {2, 3}, {4, 5}, {6, 7}}));
  EXPECT_EQ(mesh.groups(1), (Groups{{0, 2}, {1, 3}, {4, 6}, {5, 7}}));
  EXPECT_EQ(mesh.groups(2), (Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
}

// Both axes of 2 x 3 ranks one after the other.
struct Grid {
  Grid() {
    Mesh mesh({{"shard", 2}, {"replica", 3}});
    for (std::size_t axis : {0U, 1U})
      for (auto& group : mesh.groups(axis)) {
        groups.push_back(std::move(group));
        labels.push_back(static_cast<int>(axis));
      }
  }
  Groups groups;
  std::vector<int> labels;
};

TEST(StableLabels, AllAlike) {
  Grid grid;
  std::vector<double> alike(6, 1.0);
  EXPECT_EQ(stable_labels(grid.groups, grid.labels, alike), grid.labels);
}

// Rank 2 is slow: its groups {2, 3} and {0, 2, 4} are told apart, and no others, as all of those meet one of
// its groups in one rank.
TEST(StableLabels, OneSlowRank) {
  Grid grid;
  EXPECT_EQ(stable_labels(grid.groups, grid.labels, std::vector<double>{1, 1, 1.5, 1, 1, 1}),
            (std::vector<int>{0, 1, 0, 2, 3}));
}

// Ranks 0 and 3 are slow: {4, 5} has none of them, the two others have one each, but in different columns,
// which are alike in turn.
TEST(StableLabels, FinerUntilStable) {
  Grid grid;
  EXPECT_EQ(stable_labels(grid.groups, grid.labels, std::vector<double>{2, 1, 1, 2, 1, 1}),
            (std::vector<int>{0, 0, 1, 2, 2}));
  EXPECT_EQ(stable_labels(grid.groups, grid.labels, std::vector<double>{2, 1, 1, 3, 1, 1}),
            (std::vector<int>{0, 1, 2, 3, 4}));
}

}  // namespace
}  // namespace ddpsim::testing
