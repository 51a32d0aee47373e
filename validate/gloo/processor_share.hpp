#pragma once
// Which cores a rank may use, and at what priority.
#include "validate/harness/collective_backend.hpp"

namespace ddpsim::validate {

// Binds this process to its share of the machine's cores: with at least as many ranks as cores to one of
// them, in turn. Says which.
std::pair<std::string, std::string> take_cores(int local_rank, int local_world_size);

// Real-time priorities (sched(7)). On a core that compute and communication share, the threads of
// communication must come first, as a network card would, or nothing overlaps: raise before they are created,
// they inherit it; then lower this thread alone. False where the system does not allow it; then both stay as
// they are.
bool raise_priority();
bool lower_compute_priority();
// Before threads are joined: one of real-time priority that waits for others by spinning keeps them off its
// core.
void restore_priority();

}  // namespace ddpsim::validate
