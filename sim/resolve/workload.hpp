#pragma once
// The key `workload`: a recorded trace, or a model; and whose GPU computes it.
#include "sim/engine/scenario.hpp"
#include "sim/resolve/files.hpp"

namespace ddpsim {

// The trace, what is known of the model's step, and their notes and doubts. `gpu` is the cluster's, if it is
// known.
void find_workload(Files& files, const GivenJob& given, const KnownGpu& gpu, Scenario& scenario);

}  // namespace ddpsim
