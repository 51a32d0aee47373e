#pragma once
// DeepSpeed's ds_config.json, as it is, for a scenario: what it says takes the place of the scenario's keys.
#include <string>
#include <vector>

#include "sim/base/note.hpp"
#include "sim/config/value.hpp"

namespace ddpsim {

// Sets strategy, zero.*, ddp.accumulation_steps, workload.micro_batch and workload.dtype. Returns what of the
// file is not simulated and may matter, and which of the scenario file's keys and axes it replaces. Throws
// InputError where --set says something else, or the file asks for what nobody simulates. `sweeps`: whether
// the scenario's axes count.
std::vector<Note> apply_ds_config(config::Value& root, const std::string& path, bool sweeps);

}  // namespace ddpsim
