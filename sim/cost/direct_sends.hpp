#pragma once
// What ranks that send to one another directly take of the links, nobody else on them.
#include <span>

#include "sim/base/operation.hpp"
#include "sim/nccl/peer_model.hpp"
#include "sim/topology/cluster.hpp"

namespace ddpsim {

// Bytes over the most loaded link, after the longest way's latency. Under max-min sharing that is all there
// is to it: the flows over the most loaded link share it equally to the end.
//
// Of nodes that are twins (Cluster::twin_of) and have GPUs at the same positions in the group, routes are
// looked up once for all: those of a SuperPOD of 1024 GPUs are 1,248 instead of a million.
class DirectSends {
 public:
  // At most so many routes are looked up: those of 2,048 GPUs on nodes that are all different, or of 256
  // leaves of 8-GPU nodes, however many nodes each leaf has.
  static constexpr double kMostRoutes = 4'194'304;
  // Of an all-to-all of these GPUs, a gather to the first or a scatter from it, or a send/recv from the first
  // to the second. Throws InputError (without a place) where there is no way.
  DirectSends(const Cluster& cluster, std::span<const int> gpus, Operation operation);
  // Of transfers between each of these GPUs and the servers, each its part of the buffer: to them, from them,
  // or both at once. A server on the GPU itself takes no link.
  enum class Ways { to, from, both };
  DirectSends(const Cluster& cluster, std::span<const int> gpus, std::span<const int> servers, Ways ways);

  // For each byte of the buffer: of an all-to-all what a rank sends in all, its own part included.
  [[nodiscard]] const nccl::LinkBounds& bounds() const { return bounds_; }
  [[nodiscard]] Seconds time(Bytes bytes) const { return latency_ + Seconds(bounds_.all * bytes.value()); }

 private:
  Seconds latency_;
  nccl::LinkBounds bounds_;
};

}  // namespace ddpsim
