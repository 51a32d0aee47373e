#pragma once
// What the importers of AMD's machines share.
#include "sim/topology/import/imported_node.hpp"
#include "sim/topology/import/topology_import.hpp"

namespace ddpsim {

// The rate of the links between GPUs, and which GPUs these are.
void take_amd_gpu(const AmdGpu& gpu, std::string_view said_by, ImportedNode& node);

// Options that are of the other vendor. `place` is of a GPU in the file.
void check_is_nvidia(const TopologyImport& import, const SourceSpan& place);
void check_is_amd(const TopologyImport& import, const SourceSpan& place);

}  // namespace ddpsim
