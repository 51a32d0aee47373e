#pragma once
// What the allocator hands out and takes back in a step of one rank, in order.
#include <span>
#include <string>
#include <vector>

#include "sim/compute/memory.hpp"
#include "sim/program/pipeline_schedule.hpp"

namespace ddpsim {

struct MemoryEvent {
  std::string what;
  Bytes bytes;
  std::size_t allocation = 0;  // which one, counted from 0
  bool is_freed = false;
};

// `blocks`: of each chunk, as passes name it. What blocks keep is spread evenly over them. Its highest level
// is `memory.peak().allocated()` where the most micro-batches are in flight as the loss comes, else below.
std::vector<MemoryEvent> memory_timeline(const StageMemory& memory, std::span<const PipelineTask> order,
                                         std::span<const std::int64_t> blocks);

// After each event.
std::vector<Bytes> levels(std::span<const MemoryEvent> events);

}  // namespace ddpsim
