#pragma once
// How slow the slowest of many ranks is on average, by order statistics: what drawing them all again and
// again comes to.
#include <span>
#include <vector>

namespace ddpsim {

// Of GPUs of one kind, clocked by their own temperature and power: the standard deviation of their speed over
// its median that published jobs are predicted best with (docs/accuracy.md, "What jobs lose as they grow").
inline constexpr double kUsualSpread = 0.02;

// Ranks of a node that are as slow beforehand.
struct AlikeRanks {
  double slowdown = 1;
  int ranks = 0;
  bool operator==(const AlikeRanks&) const = default;
};

// Nodes that hold the same ranks.
struct AlikeNodes {
  std::vector<AlikeRanks> ranks;
  int nodes = 1;
  bool operator==(const AlikeNodes&) const = default;
};

// The mean of the largest slowdown, where each rank's is multiplied by a log-normal factor of median 1 and
// that standard deviation over median, and all of a node's by another one. The integral over the distribution
// of the largest of independent ones, F(t) = prod_nodes E[prod_ranks Phi((ln t - ln slowdown - node) /
// sigma)].
double expected_slowest(std::span<const AlikeNodes> nodes, double spread_of_ranks, double spread_of_nodes);

}  // namespace ddpsim
