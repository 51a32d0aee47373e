#pragma once
// What a recorded step holds of a GPU: its storages, as the caching allocator hands them out.
#include <vector>

#include "sim/compute/operator_times.hpp"
#include "sim/strategy/memory_timeline.hpp"

namespace ddpsim {

// In the order of the recording: of each storage what it holds and its bytes, in whole blocks of 512 B
// (kMinBlockSize of c10/cuda/CUDACachingAllocator.h).
std::vector<MemoryEvent> recorded_memory_timeline(const Recording& recording);

// At the highest level of that, of one of its recordings. Temporaries and what has no other name are among
// the activations, what collectives communicate among the buckets. Besides: workspaces of matrix products;
// with `communicators` of NCCL's what is outside the allocator, and what it reserves and does not hand out.
MemoryParts recorded_memory(const RecordedWork& work, const Recording& recording, int communicators);

}  // namespace ddpsim
