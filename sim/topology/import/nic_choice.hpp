#pragma once
// Which NICs of an imported node its GPUs use, where a cluster has NICs of one bandwidth, one to a GPU.
#include <vector>

#include "sim/topology/import/imported_node.hpp"
#include "sim/topology/import/topology_import.hpp"

namespace ddpsim {

struct NicChoice {
  std::vector<std::vector<int>> nics;  // of each NIC of the cluster its ports, NICs of the file
  std::vector<int> affinity;           // of each GPU, counts `nics`
  std::vector<int> slower, farther;    // the file's NICs that no GPU uses: not of the fastest, or not near
  BytesPerSecond port = {};            // of one port
  BytesPerSecond bandwidth = {};       // of one NIC: of its ports together, as far as PCIe carries it
};

// Of the fastest NICs each GPU takes the nearest. NCCL uses all ports that are as near to a GPU: where every
// GPU can have as many to itself, they are one NIC. Where there are fewer, GPUs share: each takes the one
// that fewest use so far. Throws InputError for a NIC of unknown speed.
NicChoice choose_nics(const ImportedNode& node, const TopologyImport& import);

}  // namespace ddpsim
