#pragma once
// A step's memory as PyTorch's viewer reads it (pytorch.org/memory_viz, torch/cuda/_memory_viz.py), and as a
// picture.
#include <span>
#include <string>

#include "sim/report/chart.hpp"
#include "sim/strategy/memory_timeline.hpp"

namespace ddpsim {

// A pickle of what torch.cuda.memory._dump_snapshot writes: the trace of one device. Addresses are made up,
// and none is used twice.
std::string memory_snapshot(std::span<const MemoryEvent> events);

// What is handed out after each event, and the line of `capacity`.
Chart memory_chart(std::span<const MemoryEvent> events, Bytes capacity, const std::string& title);

}  // namespace ddpsim
