#pragma once
// A file that a job is launched with, beside a scenario or in its place.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/command_line/command_line.hpp"
#include "sim/text/launch_file.hpp"

namespace ddpsim::cli {

struct LaunchOptions {
  std::string ds_config, megatron_args, accelerate;  // empty: none

  // --ds-config, --megatron-args and --accelerate, of which one is given.
  void add_to(Command& command);
  [[nodiscard]] std::optional<LaunchFile> file() const;
  // As it was typed: "--accelerate", "fsdp.yaml".
  [[nodiscard]] std::vector<std::string> words() const;
  // Puts it into `root`; a scenario's files are found from `scenario` on.
  [[nodiscard]] Launched apply(config::Value& root, const std::string& scenario, bool sweeps) const;
};

}  // namespace ddpsim::cli
