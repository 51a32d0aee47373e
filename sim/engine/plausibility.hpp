#pragma once
// What is unlikely about a scenario that is valid: each a note, because somebody may mean it.
#include "sim/engine/scenario.hpp"
#include "sim/gpu/gpu_description.hpp"

namespace ddpsim {

// Of the trace, of the GPU that computed it (null: unknown) and of a measured table.
void add_plausibility_notes(const GpuDescription* gpu, Scenario& scenario);

// Links slower than anything GPUs are joined by: 5 ms where 5 us was meant, 1 B/s. Codes link-latency,
// link-bandwidth.
std::vector<Note> link_notes(const Cluster& cluster);

}  // namespace ddpsim
