#pragma once
// `cluster.overrides`: what is not as the topology says.
#include <set>
#include <vector>

#include "sim/config/value.hpp"
#include "sim/topology/topology.hpp"

namespace ddpsim {

// One entry: a link's, or a node's with another figure, which is that of all its NICs' cables. None for a
// broken node.
std::optional<LinkOverride> read_override(const config::Value& entry);

struct ClusterOverrides {
  std::vector<LinkOverride> links;
  std::set<int> broken_nodes;
  SourceSpan broken_place;  // of the first
};
// `overrides`: the section, null: none. Throws InputError.
ClusterOverrides read_cluster_overrides(const config::Value* overrides);

}  // namespace ddpsim
