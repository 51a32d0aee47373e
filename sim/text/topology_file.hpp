#pragma once
#include <memory>
#include <string>
#include <vector>

#include "sim/config/reader.hpp"
#include "sim/topology/topology.hpp"

namespace ddpsim {

// What stands in place of what the file says: keys as in the file ("node.nics.bandwidth"), places as in a
// scenario.
using TopologyChanges = std::vector<config::Entry>;

// Reads a topology file (docs/reference/topology.md). Throws InputError with the place and a hint.
std::shared_ptr<const Topology> read_topology(const std::string& path, const TopologyChanges& changes = {});

}  // namespace ddpsim
