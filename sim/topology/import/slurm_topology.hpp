#pragma once
// Slurm's topology.conf: which switches join which nodes.
#include <string>
#include <vector>

#include "sim/base/source.hpp"

namespace ddpsim {

// A tree of switches, all of a level alike, the last ones with less below them.
struct SlurmTree {
  int nodes = 0;
  int levels = 1;  // of switches: leaves, pods, a spine
  int nodes_per_leaf = 0, leaves_per_pod = 0;
  std::vector<std::string> ignored;  // settings that say nothing of the tree
};

// Throws InputError with place and hint: for lines that are no switches, and for what `fabric` of a topology
// file cannot hold: leaves of different sizes, nodes below two switches, several trees, more levels.
SlurmTree read_slurm_topology(const std::string& path);

// The names in "node[01-03,7],gpu1". Throws InputError at the list.
std::vector<std::string> slurm_hosts(const Located& list);

}  // namespace ddpsim
