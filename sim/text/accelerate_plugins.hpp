#pragma once
// What Accelerate makes of its sections for DeepSpeed and Megatron-LM.
#include <string>

#include "sim/text/ds_config.hpp"
#include "sim/text/launch_settings.hpp"

namespace ddpsim {

// What they need of the rest of the file.
struct AcceleratePlugin {
  LaunchSettings& launch;
  const HiddenSize& hidden;
  SourceSpan place;   // of distributed_type
  std::string dtype;  // "bf16", "fp32", ...; empty: not said
  SourceSpan dtype_place;
};

// Null: the file has no such section.
void set_deepspeed_plugin(const AcceleratePlugin& plugin, const config::Value* section);
void set_megatron_plugin(const AcceleratePlugin& plugin, const config::Value* section);

// YAML 1.1, which PyYAML reads, has more words for it.
bool is_yaml_true(const config::Value& value);

}  // namespace ddpsim
