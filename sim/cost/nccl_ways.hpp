#pragma once
// A cluster as the messages of one of NCCL's communicators find it: between GPUs without peer-to-peer they go
// through the memory of the receiver's host, and links let through what NCCL gets of them.
#include <optional>

#include "sim/nccl/communicator.hpp"
#include "sim/topology/cluster_view.hpp"

namespace ddpsim {

// How far apart GPUs are that such a way joins; nullopt: it stays on NVLink, or leaves the node.
std::optional<nccl::PathLevel> path_level(const Cluster& cluster, const Route& route);

class NcclWays final : public ClusterView {
 public:
  // `cluster` is only looked at.
  NcclWays(const Cluster& cluster, const nccl::Communicator& communicator);

  [[nodiscard]] Link link(int id) const override;
  [[nodiscard]] std::optional<Route> find_route(int from_gpu, int to_gpu) const override;
  [[nodiscard]] Route route(int from_gpu, int to_gpu) const override;

 private:
  [[nodiscard]] Route as_taken(Route route, int from_gpu, int to_gpu) const;

  std::optional<nccl::Pcie> pcie_;
  bool over_sockets_;
};

}  // namespace ddpsim
