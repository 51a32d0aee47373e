#include "sim/text/presets.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>

#include <dlfcn.h>
#include <fmt/core.h>
#include <fmt/ranges.h>

#include "sim/base/suggest.hpp"
#include "sim/config/reader.hpp"
#include "sim/model/transformer.hpp"
#include "sim/text/model_names.hpp"

namespace ddpsim {
namespace {

namespace fs = std::filesystem;

struct KindNames {
  const char* folder;
  const char* one;
};
constexpr std::array<KindNames, 9> kKinds{{{"topologies", "topology"},
                                           {"gpus", "GPU"},
                                           {"models", "model"},
                                           {"software", "software"},
                                           {"kernels", "table of kernels"},
                                           {"fabrics", "fabric"},
                                           {"calibrations", "calibration"},
                                           {"evidence", "evidence"},
                                           {"configs", "scenario"}}};

const KindNames& names_of(PresetKind kind) {
  return kKinds[static_cast<std::size_t>(kind)];
}

// The shared object that this code is in; without '/' it is a program.
fs::path own_object() {
  Dl_info info{};
  static const char in_it = 0;
  return dladdr(&in_it, &info) != 0 && info.dli_fname ? fs::path(info.dli_fname) : fs::path();
}

// DDPSIM_PRESETS; beside an installed module or program; the sources that it was built from.
fs::path presets_folder() {
  if (const char* folder = std::getenv("DDPSIM_PRESETS")) return folder;
  static const fs::path installed = [] {
    std::error_code unreadable;
    auto program = fs::read_symlink("/proc/self/exe", unreadable);
    for (const auto& folder :
         {own_object().parent_path() / "share/ddpsim", program.parent_path().parent_path() / "share/ddpsim"})
      if (folder.is_absolute() && fs::is_directory(folder, unreadable)) return folder;
    return fs::path(DDPSIM_PRESETS_FOLDER);
  }();
  return installed;
}

}  // namespace

std::vector<PresetKind> preset_kinds() {
  std::vector<PresetKind> kinds;
  for (std::size_t kind = 0; kind < kKinds.size(); ++kind) kinds.push_back(static_cast<PresetKind>(kind));
  return kinds;
}

std::string folder_of(PresetKind kind) {
  return names_of(kind).folder;
}

PresetKind preset_kind(const std::string& name) {
  std::vector<std::string> names;
  for (std::size_t kind = 0; kind < kKinds.size(); ++kind) {
    if (kKinds[kind].folder == name) return static_cast<PresetKind>(kind);
    names.emplace_back(kKinds[kind].folder);
  }
  throw InputError(fmt::format("nothing of the kind '{}' can be listed{}", name, did_you_mean(name, names)),
                   fmt::format("the kinds are {}", fmt::join(names, ", ")));
}

std::optional<std::string> find_preset(PresetKind kind, std::string_view name) {
  auto path = presets_folder() / names_of(kind).folder / fmt::format("{}.yaml", name);
  std::error_code unreadable;
  if (!fs::is_regular_file(path, unreadable)) return std::nullopt;
  return path.string();
}

std::vector<std::string> preset_names(PresetKind kind) {
  std::vector<std::string> names;
  std::error_code unreadable;
  for (const auto& entry : fs::directory_iterator(presets_folder() / names_of(kind).folder, unreadable))
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem());
  if (kind == PresetKind::models)
    for (const auto& model : transformer_presets()) names.push_back(model.name);
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<std::string> preset_meant_by(PresetKind kind, std::string_view written) {
  auto names = preset_names(kind);
  if (kind == PresetKind::models) return name_meant_by(written, names);
  auto found = std::find(names.begin(), names.end(), written);
  return found == names.end() ? std::nullopt : std::optional(*found);
}

namespace {

std::optional<PresetKind> other_kind_of(PresetKind kind, const std::string& word) {
  for (auto other : preset_kinds()) {
    auto names = preset_names(other);
    if (other != kind && std::find(names.begin(), names.end(), word) != names.end()) return other;
  }
  return std::nullopt;
}

std::string hint_of(PresetKind given, PresetKind needed, const std::string& word) {
  if (given == PresetKind::models && needed == PresetKind::configs)
    return fmt::format("'ddpsim init --model {} ...' writes a scenario with it", word);
  return fmt::format("'ddpsim list {}' lists those", names_of(needed).folder);
}

}  // namespace

namespace {

[[noreturn]] void throw_unknown(PresetKind kind, const Located& named) {
  const auto& word = named.text;
  auto names = preset_names(kind);
  if (auto other = other_kind_of(kind, word))
    throw InputError(named.span,
                     fmt::format("'{}' is the name of a {}, and a {} is needed", word, names_of(*other).one,
                                 names_of(kind).one),
                     hint_of(*other, kind, word));
  bool is_model = kind == PresetKind::models, may_be_file = word.find_first_of("/.") != std::string::npos;
  auto meant = is_model ? did_you_mean_model(word, names) : did_you_mean(word, names);
  auto message = may_be_file
                     ? fmt::format("no file '{}', and no {} of that name{}", word, names_of(kind).one, meant)
                     : fmt::format("no {} of the name '{}'{}", names_of(kind).one, word, meant);
  auto why = is_model ? why_not_modelled(word) : std::nullopt;
  throw InputError(named.span, message,
                   why.value_or(fmt::format("'ddpsim list {}' lists them; a path has a '/' or an extension",
                                            names_of(kind).folder)));
}

// A pipe is as good as a file; a folder may have a preset's name.
bool is_file(const std::string& path) {
  std::error_code unreadable;
  auto status = fs::status(path, unreadable);
  return fs::exists(status) && !fs::is_directory(status);
}

}  // namespace

std::optional<std::string> preset_file(PresetKind kind, const Located& named) {
  const auto& word = named.text;
  bool may_be_path = word.find_first_of("/.") != std::string::npos;
  if (!may_be_path)
    if (auto file = find_preset(kind, word)) return file;
  if (kind == PresetKind::models && !looks_like_file(word))
    if (auto name = preset_meant_by(kind, word)) {
      if (auto file = find_preset(kind, *name)) return file;
      throw InputError(
          named.span, fmt::format("'{}' is a transformer by its sizes, and a list of layers is needed", word),
          "a transformer goes with --model");
    }
  if (may_be_path) return std::nullopt;
  throw_unknown(kind, named);
}

std::optional<NamedModel> find_named_model(const Located& named) {
  if (looks_like_file(named.text)) return std::nullopt;
  auto name = preset_meant_by(PresetKind::models, named.text);
  if (!name) throw_unknown(PresetKind::models, named);
  if (auto file = find_preset(PresetKind::models, *name)) return NamedModel{nullptr, *std::move(file)};
  return NamedModel{&transformer_named(*name), {}};
}

NamedModel model_of_option(const std::string& option, const std::string& given) {
  if (is_file(given)) return {nullptr, given};
  return find_named_model({given, whole_file(make_source(option, given))})
      .value_or(NamedModel{nullptr, given});
}

std::string preset_path(PresetKind kind, const std::string& option, const std::string& given) {
  if (is_file(given)) return given;
  return preset_file(kind, {given, whole_file(make_source(option, given))}).value_or(given);
}

std::string shown_path(const std::string& path) {
  auto folder = presets_folder().string() + "/";
  return path.starts_with(folder) ? path.substr(folder.size()) : path;
}

}  // namespace ddpsim
