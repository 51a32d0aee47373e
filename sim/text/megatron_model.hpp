#pragma once
#include "sim/text/megatron_flags.hpp"

namespace ddpsim {

// The model that Megatron-LM's flags describe, as keys of workload.model, its vocabulary padded.
void set_megatron_model(LaunchSettings& launch, const MegatronFlags& flags, const SourceSpan& place);

// Layers with experts of --moe-layer-freq: "2" or "([0]*3+[1]*58)". Throws InputError at `text`.
std::vector<bool> moe_layers(const Located& text, std::int64_t layers);

}  // namespace ddpsim
