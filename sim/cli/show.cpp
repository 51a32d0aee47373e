// `ddpsim show`: what stands behind a name.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/source.hpp"
#include "sim/base/suggest.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/preset_options.hpp"
#include "sim/config/value.hpp"
#include "sim/text/model_names.hpp"
#include "sim/text/presets.hpp"
#include "sim/text/transformer_file.hpp"

namespace ddpsim::cli {
namespace {

namespace fs = std::filesystem;

struct ShowOptions {
  std::string name, kind;
};

struct Reference {
  SourceSpan place;
  std::string path, written;  // in the file, and as it is found from anywhere
};

// Files that a preset names relative to itself: those that have a name by it, others by where they are.
void add_references(const config::Value& value, const fs::path& folder, std::vector<Reference>& references) {
  for (const auto& item : value.items) add_references(item, folder, references);
  for (const auto& entry : value.entries) add_references(entry.value, folder, references);
  if (value.kind != config::Value::Kind::scalar || value.scalar.find('.') == std::string::npos) return;
  auto path = (folder / value.scalar).lexically_normal();
  std::error_code unreadable;
  if (fs::path(value.scalar).is_absolute() || !fs::is_regular_file(path, unreadable)) return;
  auto written = path.string();
  for (auto kind : preset_kinds())
    if (find_preset(kind, path.stem().string()) == path.string()) written = path.stem().string();
  references.push_back({value.span, value.scalar, written});
}

// Works wherever it is put.
std::string text_of_file(const std::string& path) {
  auto loaded = load_text(path, "a preset");
  std::vector<Reference> references;
  add_references(config::parse_yaml(loaded, "a preset"), fs::path(path).parent_path(), references);
  auto lines = loaded.source->lines;
  // From the back, so that places before stay what they are.
  std::ranges::sort(references, std::greater(), [](const Reference& one) { return one.place.column; });
  for (const auto& [place, given, written] : references) {
    auto& line = lines.at(static_cast<std::size_t>(place.line) - 1);
    auto at = line.find(given, static_cast<std::size_t>(place.column) - 1);
    if (at != std::string::npos) line.replace(at, given.size(), written);
  }
  return fmt::format("# {}\n{}\n", path, fmt::join(lines, "\n"));
}

// Of a model that is known by its sizes, and of any other preset its file.
std::string text_of(PresetKind kind, const std::string& name) {
  if (auto path = find_preset(kind, name)) return text_of_file(*path);
  return write_transformer(transformer_named(name));
}

void show(const ShowOptions& options) {
  auto kinds = preset_kinds();
  if (!options.kind.empty()) kinds = {preset_kind(options.kind)};
  std::vector<std::pair<PresetKind, std::string>> found;
  std::vector<std::string> known, kinds_found;
  for (auto kind : kinds) {
    auto names = preset_names(kind);
    known.insert(known.end(), names.begin(), names.end());
    auto meant = preset_meant_by(kind, options.name);
    if (!meant) continue;
    found.emplace_back(kind, *std::move(meant));
    kinds_found.push_back(folder_of(kind));
  }
  if (found.empty()) {
    auto meant = did_you_mean(options.name, known);
    if (meant.empty()) meant = did_you_mean_model(options.name, preset_names(PresetKind::models));
    throw InputError(fmt::format("nothing has the name '{}'{}", options.name, meant),
                     "'ddpsim list KIND' says what has one");
  }
  if (found.size() > 1)
    throw InputError(
        fmt::format("'{}' is the name of several: {}", options.name, fmt::join(kinds_found, ", ")),
        fmt::format("say which: --kind {}", kinds_found.front()));
  fmt::print("{}", text_of(found.front().first, found.front().second));
}

}  // namespace

Command show_command() {
  auto options = std::make_shared<ShowOptions>();
  return {
      .name = "show",
      .description = "Print the file of a name: a model's sizes, a topology, a scenario, with their sources",
      .example = "  ddpsim show h100-sxm",
      .options = {{.name = "NAME",
                   .value = &options->name,
                   .description = "One that 'ddpsim list' shows",
                   .is_required = true,
                   .names = names_of_any_kind},
                  {.name = "--kind",
                   .value = &options->kind,
                   .description = "Where several kinds have it: models, gpus, topologies, ...",
                   .names = names_of_kinds}},
      .run = [options] { show(*options); }};
}

}  // namespace ddpsim::cli
