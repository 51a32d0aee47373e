#pragma once
// Whether a model fits into the machine's memory: better refused than killed half-way by the system.
#include <optional>

#include "traces/capture/command/capture_options.hpp"

#include "sim/base/units.hpp"

namespace ddpsim {

// Parameters, gradients, and AdamW's two moments, all float32, before any activation.
Bytes memory_needed(const CaptureOptions& options);

// What Linux says can be had without swapping; nothing where it does not say.
std::optional<Bytes> memory_available();

// Throws InputError when `available` is known and too little.
void check_memory(const CaptureOptions& options, std::optional<Bytes> available);

}  // namespace ddpsim
