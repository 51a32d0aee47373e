#pragma once
// The GPU that captures, where this build has CUDA (cuda_device.cpp) and where it has not
// (no_cuda_device.cpp).
#include <memory>

#include "traces/capture/device_description.hpp"
#include "traces/capture/event_clock.hpp"

namespace ddpsim {

// Throws BackendMissing that says what was looked for.
void require_cuda();

// The GPU's name, and what nvidia-smi says of its driver and clocks at this moment.
DeviceDescription describe_cuda();

// CUDA events on the current stream.
std::unique_ptr<EventClock> make_cuda_clock(std::size_t n_events);

}  // namespace ddpsim
