#pragma once
// The file that a job is launched with, whichever framework's it is.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/note.hpp"
#include "sim/text/ds_config.hpp"

namespace ddpsim {

enum class LaunchKind { ds_config, megatron_args, accelerate };

struct LaunchFile {
  LaunchKind kind;
  std::string path;
};

// What a scenario becomes: notes, and the samples a step of all GPUs where the file says them.
struct Launched {
  std::vector<Note> notes;
  std::optional<config::Value> global_batch;
};

// Puts what the file says into the scenario at `root`, where the command line says nothing else. `sweeps`:
// whether the scenario's axes count. Throws InputError.
Launched apply_launch_file(config::Value& root, const LaunchFile& file, bool sweeps,
                           const HiddenSize& hidden);

}  // namespace ddpsim
