#include "sim/topology/ring_cut.hpp"

#include <gtest/gtest.h>

namespace ddpsim {
namespace {

RingHops graph(int members, const std::vector<std::pair<int, int>>& pairs) {
  RingHops hops;
  hops.members = members;
  hops.inner.assign(static_cast<std::size_t>(members * members), std::nullopt);
  for (auto [a, b] : pairs) hops.inner[hops.at(a, b)] = hops.inner[hops.at(b, a)] = std::vector<int>{};
  return hops;
}

using Members = std::vector<int>;
using Parts = std::vector<std::vector<int>>;

TEST(RingCut, OfASingleMember) {
  auto cut = find_ring_cut(graph(5, {{0, 1}, {1, 2}, {0, 2}, {2, 3}, {3, 4}, {4, 2}}));
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->members, (Members{2}));
  EXPECT_EQ(cut->parts, (Parts{{0, 1}, {3, 4}}));
}

TEST(RingCut, PartsThatAreNotJoinedNeedNobodyTakenAway) {
  auto cut = find_ring_cut(graph(4, {{0, 1}, {2, 3}}));
  ASSERT_TRUE(cut);
  EXPECT_TRUE(cut->members.empty());
  EXPECT_EQ(cut->parts, (Parts{{0, 1}, {2, 3}}));
}

// A complete bipartite graph of 3 and 4: the three join four parts.
TEST(RingCut, OfThree) {
  std::vector<std::pair<int, int>> pairs;
  for (int a = 0; a < 3; ++a)
    for (int b = 3; b < 7; ++b) pairs.emplace_back(a, b);
  auto cut = find_ring_cut(graph(7, pairs));
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->members, (Members{0, 1, 2}));
  EXPECT_EQ(cut->parts.size(), 4U);
}

TEST(RingCut, NoneWhereThereIsARing) {
  EXPECT_FALSE(find_ring_cut(graph(5, {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 0}})));
}

// The Petersen graph has no ring and no such cut.
TEST(RingCut, NoneInThePetersenGraph) {
  std::vector<std::pair<int, int>> pairs;
  for (int i = 0; i < 5; ++i) {
    pairs.emplace_back(i, (i + 1) % 5);
    pairs.emplace_back(i, i + 5);
    pairs.emplace_back(i + 5, (i + 2) % 5 + 5);
  }
  EXPECT_FALSE(find_ring_cut(graph(10, pairs)));
}

}  // namespace
}  // namespace ddpsim
