#pragma once
// Which cores a rank may use, and at what priority.
#include "validate/harness/collective_backend.hpp"

namespace ddpsim::validate {

// Binds this process to its share of the machine's cores: with at least as many ranks as cores to one of
// them, in turn. Says which.
std::pair<std::string, std::string> take_cores(int local_rank, int local_world_size);

// Real-time priorities (sched(7), round robin): threads inherit what is in force when they are created. On a
// core that compute and communication share, communication must come first, as a network card would, or
// nothing overlaps. Gloo's own threads need one priority: that of its events polls while that of its
// collectives holds a lock (tcp/pair.cc, handleEvents), and that of its collectives yields until that of its
// events has let go of a buffer (common/memory.h); whichever were the higher would wait for ever.
enum class Priority { communication, compute };
// Of this thread. False where the system does not allow it; then it stays as it is.
bool take_priority(Priority priority);
// Before threads are joined: one of real-time priority that waits for others by spinning keeps them off its
// core.
void restore_priority();

}  // namespace ddpsim::validate
