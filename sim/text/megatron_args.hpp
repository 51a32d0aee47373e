#pragma once
// Megatron-LM's flags, in the script that launches it or in a file of them, for a scenario.
#include "sim/base/source.hpp"
#include "sim/text/launch_settings.hpp"

namespace ddpsim {

// Sets the model, its degrees of parallelism, batch, types, recomputation, optimizer and the GPUs, with
// Megatron-LM's defaults. Throws InputError where the flags ask for what nobody simulates.
void apply_megatron_args(LaunchSettings& launch, const LoadedText& text);

// The same of flags, but for the model and the GPUs.
class MegatronFlags;
void apply_megatron_flags(LaunchSettings& launch, const MegatronFlags& flags, const SourceSpan& place);

}  // namespace ddpsim
