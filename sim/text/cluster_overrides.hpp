#pragma once
// `cluster.overrides`: what is not as the topology says.
#include <optional>
#include <set>
#include <vector>

#include "sim/job/rows/table.hpp"
#include "sim/topology/topology.hpp"

namespace ddpsim {

// One entry: a link's, or a node's with another figure, which is that of all its NICs' cables. None for a
// broken node.
std::optional<LinkOverride> link_override(const job::Override& entry, const SourceSpan& place);

struct ClusterOverrides {
  std::vector<LinkOverride> links;
  std::set<int> broken_nodes;
  SourceSpan broken_place;  // of the first
};
// Throws InputError.
ClusterOverrides read_cluster_overrides(const GivenJob& given);

}  // namespace ddpsim
