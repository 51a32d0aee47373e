#pragma once
// Whose GPUs measured tables are of, as far as they say.
#include <string>
#include <vector>

#include "sim/calibrate/measurement.hpp"
#include "sim/topology/topology.hpp"

namespace ddpsim::cli {

// What tables are fitted to are the curves of NCCL's algorithms: throws InputError for a topology of AMD's
// GPUs. `name` is its file.
void require_nvidia(const Topology& topology, const std::string& name);

// Throws InputError for a table of AMD's GPUs; without `accept` for one of another GPU than the topology's
// too.
void check_devices(const std::vector<calibrate::Measurement>& machine, const Topology& topology,
                   const std::string& name, bool accept);

}  // namespace ddpsim::cli
