#pragma once
// Files that come with ddpsim and have a name: topologies, GPUs, models, software, fabrics, calibrations of
// NCCL's collectives, evidence, scenarios.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/value.hpp"
#include "sim/model/transformer.hpp"

namespace ddpsim {

enum class PresetKind {
  topologies,
  gpus,
  models,
  software,
  kernels,
  fabrics,
  calibrations,
  evidence,
  configs
};

std::vector<PresetKind> preset_kinds();
std::string folder_of(PresetKind kind);  // "gpus"
// By what `ddpsim list` calls it: "gpus". Throws InputError.
PresetKind preset_kind(const std::string& name);

// The file of `name` ("h100-sxm"), without extension; none: no preset of that name has one.
std::optional<std::string> find_preset(PresetKind kind, std::string_view name);
std::vector<std::string> preset_names(PresetKind kind);  // sorted; models: those that are no files, too
// The name in that list that is meant; none: nothing's. A model's may be written as people do
// (sim/text/model_names.hpp), any other as it is.
std::optional<std::string> preset_meant_by(PresetKind kind, std::string_view written);

// A word without '/' and '.' is a preset's name: its file, or an error that names the closest preset.
// Anything else is a path: none.
std::optional<std::string> preset_file(PresetKind kind, const Located& named);

// A model that has a name: its sizes, or (null) the file that describes it.
struct NamedModel {
  const Transformer* sizes = nullptr;
  std::string path;
};
// What a word names that is no file's path; none: it can only be a path. Throws InputError where it is
// neither, with the closest name.
std::optional<NamedModel> find_named_model(const Located& named);
// Of an option or argument: a file of that path comes first.
NamedModel model_of_option(const std::string& option, const std::string& given);

// The path to open for what an option or argument was given: a file of that path, else the preset of that
// name. Throws InputError, naming the option, for a word that is neither.
std::string preset_path(PresetKind kind, const std::string& option, const std::string& given);

// The same on every machine for a file that comes with ddpsim: "gpus/h100-sxm.yaml"; of others the path.
std::string shown_path(const std::string& path);

}  // namespace ddpsim
