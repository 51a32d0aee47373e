// `ddpsim show`: what stands behind a name.
#include <algorithm>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/source.hpp"
#include "sim/base/suggest.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/preset_options.hpp"
#include "sim/text/presets.hpp"
#include "sim/text/transformer_file.hpp"

namespace ddpsim::cli {
namespace {

struct ShowOptions {
  std::string name, kind;
};

// Of a model that is known by its sizes, and of any other preset its file.
std::string text_of(PresetKind kind, const std::string& name) {
  if (auto path = find_preset(kind, name))
    return fmt::format("# {}\n{}", *path, load_text(*path, "a preset").text);
  return write_transformer(transformer_named(name));
}

bool is_there(PresetKind kind, const std::string& name) {
  auto names = preset_names(kind);
  return std::find(names.begin(), names.end(), name) != names.end();
}

void show(const ShowOptions& options) {
  auto kinds = preset_kinds();
  if (!options.kind.empty()) kinds = {preset_kind(options.kind)};
  std::vector<PresetKind> found;
  std::vector<std::string> known, kinds_found;
  for (auto kind : kinds) {
    auto names = preset_names(kind);
    known.insert(known.end(), names.begin(), names.end());
    if (!is_there(kind, options.name)) continue;
    found.push_back(kind);
    kinds_found.push_back(folder_of(kind));
  }
  if (found.empty())
    throw InputError(
        fmt::format("nothing has the name '{}'{}", options.name, did_you_mean(options.name, known)),
        "'ddpsim list KIND' says what has one");
  if (found.size() > 1)
    throw InputError(
        fmt::format("'{}' is the name of several: {}", options.name, fmt::join(kinds_found, ", ")),
        fmt::format("say which: --kind {}", kinds_found.front()));
  fmt::print("{}", text_of(found.front(), options.name));
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
