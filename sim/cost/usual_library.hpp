#pragma once
// The model of a library on machines of which nobody says more than their topology does.
#include <memory>
#include <vector>

#include "sim/cost/library_model.hpp"
#include "sim/topology/cluster.hpp"
#include "sim/topology/topology.hpp"

namespace ddpsim {

// None of NCCL, whose model needs a calibration. Throws InputError where the topology has not what the
// library needs.
std::shared_ptr<const LibraryModel> usual_library(Backend backend, const Topology& topology,
                                                  const std::shared_ptr<const Cluster>& cluster,
                                                  const std::vector<int>& gpus);

}  // namespace ddpsim
