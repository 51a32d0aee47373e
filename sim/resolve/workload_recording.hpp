#pragma once
// The workload of a job that names a recording.
#include "sim/engine/scenario.hpp"
#include "sim/resolve/files.hpp"

namespace ddpsim {

// Its trace, timed on the cluster's GPU; what the scenario knows of it besides. Throws InputError.
std::shared_ptr<const LayerTrace> find_recording(Files& files, const GivenJob& given, const KnownGpu& gpu,
                                                 Scenario& scenario);

// Of a job that leaves its world size to its recordings, what it says with theirs; none: it is said.
std::optional<config::Value> with_recorded_world_size(Files& files, const GivenJob& given);

}  // namespace ddpsim
