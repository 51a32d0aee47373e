#include "sim/text/presets.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "sim/base/suggest.hpp"
#include "sim/config/reader.hpp"
#include "sim/model/transformer.hpp"

namespace ddpsim {
namespace {

namespace fs = std::filesystem;

struct KindNames {
  const char* folder;
  const char* one;
};
constexpr std::array<KindNames, 5> kKinds{{{"topologies", "topology"},
                                           {"gpus", "GPU"},
                                           {"models", "model"},
                                           {"software", "software"},
                                           {"fabrics", "fabric"}}};

const KindNames& names_of(PresetKind kind) {
  return kKinds[static_cast<std::size_t>(kind)];
}

// DDPSIM_PRESETS; beside an installed program; the sources that it was built from.
fs::path presets_folder() {
  if (const char* folder = std::getenv("DDPSIM_PRESETS")) return folder;
  static const fs::path beside_program = [] {
    std::error_code unreadable;
    auto installed =
        fs::read_symlink("/proc/self/exe", unreadable).parent_path().parent_path() / "share/ddpsim";
    return fs::is_directory(installed, unreadable) ? installed : fs::path(DDPSIM_PRESETS_FOLDER);
  }();
  return beside_program;
}

}  // namespace

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

std::optional<std::string> preset_file(PresetKind kind, const config::Value& value) {
  auto word = config::as_string(value);
  if (word.find_first_of("/.") != std::string::npos) return std::nullopt;
  if (auto file = find_preset(kind, word)) return file;
  auto names = preset_names(kind);
  throw InputError(
      value.span,
      fmt::format("no {} of the name '{}'{}", names_of(kind).one, word, did_you_mean(word, names)),
      fmt::format("'ddpsim list {}' lists them; a path has a '/' or an extension", names_of(kind).folder));
}

}  // namespace ddpsim
