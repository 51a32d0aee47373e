#pragma once
// On which nodes a job runs, where its scenario does not say it.
#include <span>
#include <vector>

#include "sim/base/note.hpp"
#include "sim/resolve/cluster_section.hpp"
#include "sim/topology/cluster.hpp"

namespace ddpsim {

// Which nodes were drawn (code nodes-drawn), and which of `cluster.overrides` change only nodes without a
// rank (code override-unused).
std::vector<Note> placement_notes(const GivenJob& given, const Topology& topology, const Cluster& cluster,
                                  std::span<const int> gpu_of_rank);

}  // namespace ddpsim
