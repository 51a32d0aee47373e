#pragma once
// Hugging Face Accelerate's configuration (accelerate config), as it is, for a scenario.
#include "sim/text/ds_config.hpp"
#include "sim/text/launch_settings.hpp"

namespace ddpsim {

// Sets the strategy, its options, the GPUs, the type that is computed in and, of MEGATRON_LM, degrees of
// parallelism. Throws InputError where the file asks for what nobody simulates.
void apply_accelerate_config(LaunchSettings& launch, const config::Value& file, const HiddenSize& hidden);

}  // namespace ddpsim
