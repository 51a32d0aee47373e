#pragma once
#include "sim/topology/import/imported_node.hpp"
#include "sim/topology/import/topology_import.hpp"

namespace ddpsim {

// The node as a topology file. `kind: cluster` for one GPU; for all GPUs alike at NVSwitches; where NVLinks
// join all pairs, or a regular PCIe tree the other ones. `kind: graph` for the rest. `what` names the format
// in its header. Throws InputError at a NIC of unknown speed, where a cluster needs it.
ImportedTopology write_topology(const ImportedNode& node, const TopologyImport& import,
                                std::string_view what);

}  // namespace ddpsim
