#pragma once
// The links between the sockets of an imported node.
#include <optional>
#include <string_view>

#include "sim/topology/import/imported_node.hpp"
#include "sim/topology/import/topology_import.hpp"

namespace ddpsim {

// As --socket-bandwidth says, else as NCCL counts the CPU: `in_file`, or that of --cpu, or one that is
// assumed. Of several calls, one for each CPU, the slowest counts. `file` is "the matrix" or "the file".
void add_socket_link(ImportedNode& node, const TopologyImport& import, std::optional<HostCpu> in_file,
                     std::string_view file);

}  // namespace ddpsim
