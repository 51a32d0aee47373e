#include "sim/cost/nccl_ways.hpp"

#include <algorithm>
#include <limits>

namespace ddpsim {
namespace {

// What sockets of a host have between them is more than NCCL counts for its search, and held up no measured
// ring: 8 channels over two sockets of EPYCs get 38 GB/s where it counts 16
// (measurements/transports/pcie.csv).
constexpr BytesPerSecond kBetweenSockets(1e15);

}  // namespace

std::optional<nccl::PathLevel> path_level(const Cluster& cluster, const Route& route) {
  auto passes = [&](Medium medium) {
    return std::count_if(route.links.begin(), route.links.end(),
                         [&](int link) { return cluster.cable(link).medium == medium; });
  };
  if (passes(Medium::network) > 0) return std::nullopt;
  if (passes(Medium::socket) > 0) return nccl::PathLevel::sys;
  if (passes(Medium::numa_node) > 0 || passes(Medium::host_bridge) > 0) return nccl::PathLevel::phb;
  if (auto links = passes(Medium::pcie); links > 0)
    return links <= 2 ? nccl::PathLevel::pix : nccl::PathLevel::pxb;
  return std::nullopt;
}

NcclWays::NcclWays(const Cluster& cluster, const nccl::Communicator& communicator)
    : ClusterView(std::shared_ptr<const Cluster>(std::shared_ptr<const Cluster>(), &cluster)),
      pcie_(communicator.pcie),
      over_sockets_(communicator.sockets.has_value()) {}

Link NcclWays::link(int id) const {
  auto link = cluster().link(id);
  if (!pcie_ && !over_sockets_) return link;
  switch (cluster().cable(id).medium) {
    case Medium::nvlink:
    case Medium::xgmi:
      break;
    case Medium::memory:
      if (pcie_) link.bandwidth = pcie_->memory_share * link.bandwidth;
      break;
    case Medium::pcie:
    case Medium::host_bridge:
    case Medium::numa_node:
      if (pcie_) link.bandwidth = pcie_->share * link.bandwidth;
      break;
    case Medium::socket:
      if (pcie_) link.bandwidth = pcie_->is_measured ? pcie_->share * link.bandwidth : kBetweenSockets;
      break;
    case Medium::network:
      if (over_sockets_) link.bandwidth = nccl::kSocketWireShare * link.bandwidth;
      break;
  }
  return link;
}

Route NcclWays::as_taken(Route route, int from_gpu, int to_gpu) const {
  if (!pcie_ && !over_sockets_) return route;
  auto level = path_level(cluster(), route);
  // What was measured is a share of the shortest ways, whichever they took.
  if (pcie_ && !pcie_->is_measured && level && *level > pcie_->limit)
    if (auto way = cluster().through_host(from_gpu, to_gpu)) route = *std::move(way);
  route.bandwidth = BytesPerSecond(std::numeric_limits<double>::infinity());
  for (int id : route.links) route.bandwidth = std::min(route.bandwidth, link(id).bandwidth);
  return route;
}

std::optional<Route> NcclWays::find_route(int from_gpu, int to_gpu) const {
  auto route = cluster().find_route(from_gpu, to_gpu);
  if (route) route = as_taken(*std::move(route), from_gpu, to_gpu);
  return route;
}

Route NcclWays::route(int from_gpu, int to_gpu) const {
  return as_taken(cluster().route(from_gpu, to_gpu), from_gpu, to_gpu);
}

}  // namespace ddpsim
