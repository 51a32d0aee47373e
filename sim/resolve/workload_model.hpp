#pragma once
// `workload` of a scenario that names a model in place of a trace.
#include <optional>
#include <string>
#include <vector>

#include "sim/base/note.hpp"
#include "sim/compute/model_layers.hpp"
#include "sim/compute/model_step.hpp"
#include "sim/engine/doubt.hpp"
#include "sim/resolve/files.hpp"

namespace ddpsim {

// The software where none is named: of GPUs without bfloat16, on which no flash kernel of it runs, another.
std::string_view usual_framework(const GpuDescription& gpu);

// A transformer by its sizes, or a list of layers.
struct AnyModel {
  std::optional<Transformer> transformer;
  std::optional<Model> layers;
  std::vector<Note> notes = {};  // how it was understood
};

// The value of workload.model: a name, a file or the sizes. Throws InputError.
AnyModel described_model(const config::Value& value, Files& files);
// A file of models/ or a config.json. Throws InputError.
AnyModel read_any_model(const std::string& path);
// What an option or argument was given: the name of a model, or a file's. Throws InputError, naming it.
AnyModel any_model_of(const std::string& option, const std::string& name_or_path);
// The tokens that every sample of it has; 0: it takes any number.
std::int64_t own_sequence(const AnyModel& model);

struct ModelWorkload {
  LayerTrace trace;
  std::optional<ModelStep>
      step;  // none: of a list of layers, which says neither memory nor a transformer's sizes
  std::vector<Note> notes;
  std::vector<Doubt> doubts;  // of the times
};

// `is_sharded`: the strategy casts gradients as it reduces them; others leave that to the backward pass.
// The section `workload` of a job that names a model. Throws InputError.
ModelWorkload read_workload_model(Files& files, const GivenJob& given, const GpuDescription& gpu,
                                  bool is_sharded);

}  // namespace ddpsim
