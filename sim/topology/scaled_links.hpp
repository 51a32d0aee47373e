#pragma once
// What if all links were faster, or later?
#include <memory>

#include "sim/topology/cluster.hpp"

namespace ddpsim {

// Times as much of each link's.
struct LinkScale {
  double bandwidth = 1, latency = 1;
  bool operator==(const LinkScale&) const = default;
};

// The cluster with all links so much different, routes as they were; itself where nothing is different.
std::shared_ptr<const Cluster> with_scaled_links(std::shared_ptr<const Cluster> cluster,
                                                 const LinkScale& scale);

}  // namespace ddpsim
