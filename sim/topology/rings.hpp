#pragma once
// Ring search: in which order a ring should visit GPUs so that it runs over the fastest links.
#include <optional>
#include <span>
#include <vector>

#include "sim/topology/cluster.hpp"

namespace ddpsim {

// Rings over the given GPUs, each visiting every one once; entries index into `gpus`. The GPUs of a node are
// visited one after the other, nodes in order of their first GPU. Within a node the order is the one whose
// narrowest hop is widest (over direct links where there are such), hops that share a link sharing its
// bandwidth; among those the first in order of GPUs. Between nodes channel c enters at the c-th GPU where it
// can, so that channels use different NICs; further channels take links that are left as far as there are
// any, then share. `channels`: exactly so many; nullopt: as many as add bandwidth when each carries the same.
// Throws InputError when two neighbours have no route. Orders are searched for in each kind of node once,
// exactly for nodes of up to about 16 GPUs and with a limited effort beyond.
std::vector<std::vector<int>> find_rings(const Cluster& cluster, std::span<const int> gpus,
                                         std::optional<int> channels);

}  // namespace ddpsim
