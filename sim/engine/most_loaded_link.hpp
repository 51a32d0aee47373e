#pragma once
#include <optional>

#include "sim/engine/scenario.hpp"

namespace ddpsim {

// The link that all all-reduces of an iteration together keep busy for longest, those of all groups: bytes
// over bandwidth, without latency and background traffic.
struct MostLoadedLink {
  int link = -1;  // of the cluster; the first of equals
  Seconds busy;
  int as_loaded = 1;  // links that are busy as long, itself included
};

// None where a table says what all-reduces take, or a library's model.
std::optional<MostLoadedLink> most_loaded_link(const Scenario& scenario);

}  // namespace ddpsim
