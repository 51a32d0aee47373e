#pragma once
// DeepSpeed's ds_config.json, as it is, for a scenario.
#include <cstdint>
#include <functional>
#include <optional>

#include "sim/text/launch_settings.hpp"

namespace ddpsim {

// The model's hidden width, of which Hugging Face's Trainer makes sizes; none: there is no such model.
using HiddenSize = std::function<std::optional<std::int64_t>()>;

// Sets strategy, zero.*, parallelism.tensor, ddp.accumulation_steps, workload.micro_batch and workload.dtype.
// Throws InputError where the file asks for what nobody simulates.
void apply_ds_config(LaunchSettings& launch, const config::Value& file, const HiddenSize& hidden);

}  // namespace ddpsim
