#include "sim/cli/launch_options.hpp"

#include "sim/resolve/launched_job.hpp"

namespace ddpsim::cli {

void LaunchOptions::add_to(Command& command) {
  auto option = [](const char* name, std::string* path, const char* description,
                   std::vector<std::string> excludes) {
    return Option{.name = name,
                  .value = path,
                  .description = description,
                  .type = "PATH",
                  .refuses_empty = true,
                  .excludes = std::move(excludes)};
  };
  command.options.insert(
      command.options.end(),
      {option("--ds-config", &ds_config,
              "DeepSpeed's ds_config.json: strategy, buckets, batches and dtypes are as it says", {}),
       option("--megatron-args", &megatron_args,
              "Megatron-LM's launch script, or its flags: model, parallelism, batch and more as it says",
              {"--ds-config"}),
       option("--accelerate", &accelerate,
              "Hugging Face Accelerate's configuration (YAML): strategy, GPUs and dtype as it says",
              {"--ds-config", "--megatron-args"})});
}

std::optional<LaunchFile> LaunchOptions::file() const {
  if (!ds_config.empty()) return LaunchFile{LaunchKind::ds_config, ds_config};
  if (!megatron_args.empty()) return LaunchFile{LaunchKind::megatron_args, megatron_args};
  if (!accelerate.empty()) return LaunchFile{LaunchKind::accelerate, accelerate};
  return std::nullopt;
}

std::vector<std::string> LaunchOptions::words() const {
  if (!ds_config.empty()) return {"--ds-config", ds_config};
  if (!megatron_args.empty()) return {"--megatron-args", megatron_args};
  if (!accelerate.empty()) return {"--accelerate", accelerate};
  return {};
}

Launched LaunchOptions::apply(config::Value& root, const std::string& scenario, bool sweeps) const {
  auto given = file();
  return given ? apply_to_job(root, *given, sweeps, scenario) : Launched();
}

}  // namespace ddpsim::cli
