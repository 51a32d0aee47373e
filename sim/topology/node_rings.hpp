#pragma once
// What rings lead through the nodes of each kind, every node judged as if all were like it.
#include <optional>
#include <span>
#include <vector>

#include "sim/topology/cluster.hpp"
#include "sim/topology/ring_search.hpp"

namespace ddpsim {

// The GPUs of one node that take part, in order of their number; entries index into `gpus`.
using Members = std::vector<int>;

struct RingSearch {
  const Cluster& cluster;
  std::span<const int> gpus;
  std::vector<Members> nodes;

  [[nodiscard]] int gpu(std::size_t node, int member) const {
    const auto& members = nodes[node % nodes.size()];
    return gpus[members[static_cast<std::size_t>(member) % members.size()]];
  }
};

// By node, in order of their first GPU.
std::vector<Members> by_node(const Cluster& cluster, std::span<const int> gpus);

// What nodes of one kind offer.
struct NodeRings {
  std::vector<Packing> packings;

  // The packing that gives `channels` rings the most bandwidth; null if none has so many.
  [[nodiscard]] const Packing* with(int channels) const;
  [[nodiscard]] int most_channels() const;
  // Channels beyond what the links hold repeat the ones there are.
  [[nodiscard]] const std::vector<int>& ring(int channel, int channels) const;
};

class KindsOfNodes {
 public:
  // Throws InputError where no ring leads through a node.
  KindsOfNodes(const RingSearch& search, std::optional<int> channels);

  [[nodiscard]] const NodeRings& of(std::size_t node) const { return rings_[kind_of_[node]]; }
  [[nodiscard]] std::size_t nodes_like(std::size_t node) const { return count_[kind_of_[node]]; }
  // As many channels as add bandwidth in the node that gains least; fewer if that is the same.
  [[nodiscard]] int best_channels() const;

 private:
  std::vector<NodeRings> rings_;
  std::vector<std::size_t> kind_of_;
  std::vector<std::size_t> count_;  // nodes of each kind
};

}  // namespace ddpsim
