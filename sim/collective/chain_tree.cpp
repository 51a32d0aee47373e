// NCCL's tree: chains within the nodes, the double binary tree between their heads.
#include <algorithm>
#include <numeric>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/collective/algorithms.hpp"
#include "sim/collective/channels.hpp"

namespace ddpsim {
namespace {

// By rank.
std::vector<std::size_t> nodes_of(const Wiring& wiring) {
  std::vector<std::size_t> node_of(wiring.ranks);
  for (std::size_t node = 0; node < wiring.nodes.size(); ++node)
    for (int rank : wiring.nodes[node]) node_of[rank] = node;
  return node_of;
}

// A chain a node, by node: its ranks from the head on, in the order in which a ring visits them.
std::vector<std::vector<int>> chains_along(const std::vector<int>& order,
                                           const std::vector<std::size_t>& node_of, std::size_t nodes) {
  std::vector<std::vector<int>> chains(nodes);
  for (int rank : order) chains[node_of[rank]].push_back(rank);
  return chains;
}

// Their heads at that local position of each node.
void turn_to(int position, const Wiring& wiring, std::vector<std::vector<int>>& chains) {
  for (std::size_t node = 0; node < chains.size(); ++node) {
    auto& chain = chains[node];
    auto head = std::find(chain.begin(), chain.end(), wiring.nodes[node][position]);
    std::rotate(chain.begin(), head, chain.end());
  }
}

// The heads hang from one another as the nodes do in `between`, everyone else from the one before in the
// chain.
Parents tree_of_chains(const std::vector<std::vector<int>>& chains, const Parents& between, int ranks) {
  Parents tree(ranks);
  for (std::size_t node = 0; node < chains.size(); ++node) {
    const auto& chain = chains[node];
    int above = between[node];
    tree[chain[0]] = above == no_parent ? no_parent : chains[above][0];
    for (std::size_t i = 1; i < chain.size(); ++i) tree[chain[i]] = chain[i - 1];
  }
  return tree;
}

}  // namespace

CollectiveSchedule chain_tree(const Wiring& wiring, const std::vector<std::vector<int>>& orders) {
  DDPSIM_CHECK(!orders.empty(), "at least one channel");
  DDPSIM_CHECK(!wiring.nodes.empty(), "every rank is in a node");
  CollectiveSchedule schedule{"chain_tree", Operation::all_reduce, wiring.ranks, {}};
  if (wiring.ranks == 1) return schedule;
  std::vector<int> all(wiring.ranks);
  std::iota(all.begin(), all.end(), 0);
  auto [first, second] = double_binary_trees(static_cast<int>(wiring.nodes.size()));
  Stage stage{Operation::all_reduce, {}};
  auto node_of = nodes_of(wiring);
  auto channels = static_cast<int>(orders.size());
  for (int c = 0; c < channels; ++c) {
    auto in_nodes = chains_along(orders[c], node_of, wiring.nodes.size());
    if (!wiring.heads.empty()) turn_to(wiring.heads[c % wiring.heads.size()], wiring, in_nodes);
    stage.channels.push_back(tree_channel(
        wiring, all,
        {tree_of_chains(in_nodes, first, wiring.ranks), tree_of_chains(in_nodes, second, wiring.ranks)},
        {c, channels}));
  }
  schedule.stages.push_back(std::move(stage));
  return schedule;
}

}  // namespace ddpsim
