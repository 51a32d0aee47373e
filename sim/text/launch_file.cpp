#include "sim/text/launch_file.hpp"

#include "sim/text/accelerate_config.hpp"
#include "sim/text/megatron_args.hpp"

namespace ddpsim {

Launched apply_launch_file(config::Value& root, const LaunchFile& file, bool sweeps,
                           const HiddenSize& hidden) {
  LaunchSettings launch(root, sweeps);
  SourceSpan place;
  if (file.kind == LaunchKind::megatron_args) {
    auto text = load_text(file.path, "Megatron-LM's arguments");
    place = whole_file(text.source);
    apply_megatron_args(launch, text);
  } else {
    bool is_of_deepspeed = file.kind == LaunchKind::ds_config;
    auto said =
        config::load_yaml(file.path, is_of_deepspeed ? "a ds_config.json" : "Accelerate's configuration");
    place = said.span;
    is_of_deepspeed ? apply_ds_config(launch, said, hidden) : apply_accelerate_config(launch, said, hidden);
  }
  return {launch.notes(place), launch.global_batch()};
}

}  // namespace ddpsim
