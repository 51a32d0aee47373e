#pragma once
// Links that are slower or broken, for `Topology::build`.
#include <string>

#include "sim/topology/topology.hpp"

namespace ddpsim::testing {

inline LinkOverride slower(const std::string& link, double bandwidth_GBps) {
  LinkOverride change;
  change.link = link;
  change.bandwidth = BytesPerSecond(bandwidth_GBps * 1e9);
  return change;
}

inline LinkOverride broken(const std::string& link) {
  LinkOverride change;
  change.link = link;
  change.broken = true;
  return change;
}

}  // namespace ddpsim::testing
