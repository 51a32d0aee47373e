#pragma once
// `ddpsim trace synthesize --model`: the step of a transformer by the compute law, as workload.model has it.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/note.hpp"
#include "sim/trace/layer_trace.hpp"

namespace ddpsim::cli {

struct ModelOptions {
  std::string model;  // a name or a path
  std::int64_t micro_batch = 1;
  std::optional<std::int64_t> sequence;
  std::optional<std::string> dtype, gradients, framework, recompute, attention;
  std::optional<std::string> gpu;
  std::optional<Seconds> forward, backward, optimizer;  // known
};

struct SynthesizedModel {
  LayerTrace trace;
  std::vector<Note> notes;  // what is uncertain, and where the step does not fit into the GPU's memory
};

// Throws InputError.
SynthesizedModel synthesize_model(const ModelOptions& options);

}  // namespace ddpsim::cli
