#pragma once
// The NICs through which a network that reduces (SHARP) takes part in a collective.
#include <span>

#include "sim/topology/cluster.hpp"

namespace ddpsim {

struct NetworkHeads {
  int heads = 0;  // NICs of the node that has fewest; 0: all GPUs are in one node
  double seconds_per_byte =
      0;  // for a byte of an all-reduce's buffer: each NIC sends and receives 1/heads of it
};
// Of the NICs over which each GPU reaches the next node. Throws InputError (without a place) where there is
// no way.
NetworkHeads network_heads(const Cluster& cluster, std::span<const int> gpus);

}  // namespace ddpsim
