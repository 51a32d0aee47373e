#pragma once
// The ways inside one node: between its GPUs, and between its GPUs and its NICs.
#include <functional>
#include <optional>
#include <vector>

#include "sim/topology/node_model.hpp"

namespace ddpsim {

// Ways carry local link ids. Found once for each kind of node, and for each node with changed links.
class NodeWays {
 public:
  // `gpus_in_use`: GPUs from there on run no rank and forward nothing. `wire`: the figures of a wire, nullopt
  // for a broken one.
  NodeWays(const NodeModel& model, int gpus_in_use, const std::function<std::optional<Link>(int)>& wire);
  explicit NodeWays(const NodeModel& model);  // as described

  using Way = std::optional<Route>;
  [[nodiscard]] const Way& between(int from_gpu, int to_gpu) const {
    return gpu_[at(from_gpu, to_gpu, gpus_)];
  }
  // By way of the memory of the receiver's host.
  [[nodiscard]] Way through_host(int from_gpu, int to_gpu) const;
  // From a GPU into a NIC and back; by way of another GPU where that is the only or a shorter way.
  [[nodiscard]] const Way& out(int gpu, int nic) const { return out_[at(gpu, nic, nics_)]; }
  [[nodiscard]] const Way& in(int nic, int gpu) const { return in_[at(gpu, nic, nics_)]; }

 private:
  static std::size_t at(int row, int column, int columns) {
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(columns) +
           static_cast<std::size_t>(column);
  }

  int gpus_;
  int nics_;
  std::vector<Way> gpu_, out_, in_;
  // From each GPU to the memory of each other's host, and from there to the other.
  std::vector<Way> written_, read_;
};

}  // namespace ddpsim
