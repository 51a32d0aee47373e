#include "sim/topology/group_shape.hpp"

#include <map>

namespace ddpsim {
namespace {

// By first appearance, from 0.
class Numbers {
 public:
  // The number of a thing, and whether it is new.
  std::pair<int, bool> of(int thing) {
    auto [it, is_new] = numbers_.try_emplace(thing, static_cast<int>(numbers_.size()));
    return {it->second, is_new};
  }
  [[nodiscard]] std::size_t size() const { return numbers_.size(); }

 private:
  std::map<int, int> numbers_;
};

}  // namespace

std::optional<std::vector<int>> group_shape(const Cluster& cluster, std::span<const int> gpus) {
  Numbers nodes, switches;
  std::vector<int> shape;
  bool is_known = true;
  for (int gpu : gpus) {
    int node = cluster.node_of(gpu);
    auto [number, is_new] = nodes.of(node);
    shape.insert(shape.end(), {number, cluster.position_of(gpu)});
    if (!is_new) continue;
    shape.push_back(cluster.like_node(node));
    if (auto above = cluster.switches_above(node))
      for (int one : *above) shape.push_back(switches.of(one).first);
    else
      is_known = false;
  }
  if (!is_known && nodes.size() > 1) return std::nullopt;
  return shape;
}

}  // namespace ddpsim
