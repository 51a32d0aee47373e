#pragma once
// Edges written out by hand, and the comparison.
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/collective/schedule.hpp"

namespace ddpsim::testing {

struct ExpectedEdge {
  int from, to;
  bool reduce;
  int piece, of;
  std::vector<int> inputs;
};

inline void expect_edge(const Edge& edge, const ExpectedEdge& expected, std::size_t i) {
  EXPECT_EQ(edge.from, expected.from) << i;
  EXPECT_EQ(edge.to, expected.to) << i;
  EXPECT_EQ(edge.reduce, expected.reduce) << i;
  EXPECT_EQ(edge.piece.index, expected.piece) << i;
  EXPECT_EQ(edge.piece.of, expected.of) << i;
  EXPECT_THAT(edge.inputs, ::testing::ElementsAreArray(expected.inputs)) << i;
}

// Of four ranks that all reach each other: the first six edges are of one tree, the others of the other, each
// on half of every chunk.
struct ExpectedTreeEdge {
  int from, to;
  bool reduce;
  std::vector<int> inputs;
};
inline void expect_two_trees_of_four(const Channel& channel, const std::vector<ExpectedTreeEdge>& expected) {
  ASSERT_EQ(channel.edges.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto& [from, to, reduce, inputs] = expected[i];
    expect_edge(channel.edges[i], {from, to, reduce, i < 6 ? 0 : 1, 2, inputs}, i);
    EXPECT_THAT(channel.edges[i].route, ::testing::ElementsAre(from * 4 + to)) << i;
  }
}

}  // namespace ddpsim::testing
