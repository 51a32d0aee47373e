#pragma once
#include "sim/topology/cluster.hpp"

namespace ddpsim {

// What all links together can carry from the first half of the GPUs (by number; the smaller half of an odd
// number) to the second half, when every GPU sends as fast as it can and all ways may be used at once: the
// maximum flow, which is the capacity of the narrowest cut. Broken links carry nothing; a single
// node does not use its fabric. 0 for a single GPU.
BytesPerSecond bisection_bandwidth(const Cluster& cluster);

// The same without merging nodes that are alike: slow for large clusters, there to check the other.
BytesPerSecond unmerged_bisection_bandwidth(const Cluster& cluster);

}  // namespace ddpsim
