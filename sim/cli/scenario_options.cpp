#include "sim/cli/scenario_options.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <map>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "sim/base/one_line.hpp"
#include "sim/base/output_file.hpp"
#include "sim/base/read_files.hpp"
#include "sim/base/suggest.hpp"
#include "sim/cli/notes.hpp"
#include "sim/cli/preset_options.hpp"
#include "sim/cli/scenario_text.hpp"
#include "sim/config/overrides.hpp"
#include "sim/resolve/slow_note.hpp"
#include "sim/resolve/unused_keys.hpp"
#include "sim/text/presets.hpp"

namespace ddpsim::cli {
namespace {

constexpr std::array<std::string_view, 5> kToStandardOutput{"--json", "--csv", "--out", "--svg", "--dot"};

// A word that is neither a file nor a name: of what it may have been meant to be.
void check_name(const std::string& word) {
  std::error_code unreadable;
  if (std::filesystem::exists(word, unreadable) || word.find('/') != std::string::npos) return;
  auto any = names_of_any_kind();
  if (std::ranges::find(any, word) != any.end() || word.ends_with(".yaml") || word.ends_with(".json")) return;
  auto names = names_of(PresetKind::configs)();
  std::ranges::move(names_of(PresetKind::models)(), std::back_inserter(names));
  throw InputError(
      fmt::format("FILE: no scenario and no model of the name '{}'{}", word, did_you_mean(word, names)),
      "'ddpsim list configs' and 'ddpsim list models' list them; a path has a '/' or an extension");
}

config::Value empty_scenario(const std::string& launch_file) {
  config::Value root;
  root.kind = config::Value::Kind::map;
  root.span.file = std::make_shared<const SourceFile>(SourceFile{launch_file, {}});
  return root;
}

}  // namespace

Option output_option(std::string name, std::string* path, std::string description, std::string type) {
  return {.name = std::move(name),
          .value = path,
          .description = std::move(description),
          .type = std::move(type),
          .refuses_empty = true};
}

void ScenarioOptions::add_file_to(Command& command) {
  command.run = [this, run = std::move(command.run), name = command.name] {
    auto launched = launch.file();
    require({{"FILE", !file.empty() || launched}}, fmt::format("see 'ddpsim {} --help'", name));
    is_launched = file.empty();
    is_model = takes_models && !is_launched && cli::is_model(file);
    if (is_launched) file = launched->path;
    if (takes_models && !is_launched && !is_model) check_name(file);
    if (!is_launched && !is_model) file = preset_path(PresetKind::configs, "FILE", file);
    run();
  };
  command.options.insert(
      command.options.end(),
      {{.name = "FILE",
        .value = &file,
        .description = "Scenario: a name ('ddpsim list configs') or a file (YAML)",
        .is_required = true,
        .names = names_of(PresetKind::configs)},
       {.name = "--set",
        .value = &overrides,
        .description = "Override a scenario key: key.path=value; removes its sweep axis (repeatable)",
        .type = "KEY=VALUE",
        .names = names_of_keys}});
}

void ScenarioOptions::add_to(Command& command) {
  add_file_to(command);
  command.options.insert(
      command.options.end(),
      {output_option("--json", &json, "Write the result as JSON; '-' is standard output", "PATH|-"),
       output_option("--csv", &csv, "Write the result as CSV; '-' is standard output", "PATH|-"),
       {.name = "--quiet", .value = &quiet, .description = "No summary and no notes"}});
}

void ScenarioOptions::add_iterations_to(Command& command) {
  auto stands_for = [this](const char* key) {
    return [this, key](std::int64_t number) {
      overrides.push_back(fmt::format("variability.{}={}", key, number));
    };
  };
  command.options.push_back({.name = "--iterations",
                             .value = stands_for("iterations"),
                             .description =
                                 "Simulate so many iterations that differ as the trace's did, or as the "
                                 "scenario's section 'variability' says",
                             .type = "N"});
  command.options.push_back(
      {.name = "--seed",
       .value = stands_for("seed"),
       .description = "Seed of their random numbers: the same seed gives the same results",
       .type = "SEED"});
}

void ScenarioOptions::add_job_to(Command& command, std::initializer_list<std::string_view> without) {
  takes_models = true;
  sizes_itself = std::ranges::find(without, "--gpus") != without.end();
  for (auto& option : command.options)
    if (option.name == "FILE") {
      option.is_required = false;
      option.description =
          "Scenario: a name ('ddpsim list configs') or a file (YAML); or a model: a name ('ddpsim list "
          "models') or its config.json";
      option.names = [] {
        auto names = preset_names(PresetKind::configs);
        std::ranges::move(preset_names(PresetKind::models), std::back_inserter(names));
        return names;
      };
    }
  launch.add_to(command);
  job.add_to(command, without);
  command.options.push_back(
      output_option("--out", &out, "Write the scenario, with --set and a launch file in it", "PATH|-"));
}

config::Value ScenarioOptions::load(std::vector<Note>& notes, bool sweeps) const {
  auto root = is_launched || is_model ? empty_scenario(file) : config::load_yaml(file, "a scenario");
  job.apply(root, is_model ? file : "", sweeps);
  for (const auto& assignment : overrides) config::apply_override(root, assignment);
  job.check(overrides);
  notes = launch.apply(root, file, sweeps).notes;
  if (is_launched) require_launched(root, file, sizes_itself);
  if (is_model) {
    auto usual = complete_model_job(
        root, sizes_itself, "like: ddpsim simulate llama-3-8b --on superpod-h100 --gpus 64 --sequence 8192");
    std::ranges::move(usual, std::back_inserter(notes));
  }
  refuse_unused_keys(root);
  if (auto slow = slow_note(root, sweeps)) notes.push_back(std::move(*slow));
  if (!quiet) print_notes(notes);
  return root;
}

config::Value ScenarioOptions::load() const {
  std::vector<Note> none;
  return load(none);
}

std::string ScenarioOptions::written(const config::Value& root) const {
  return out.empty()
             ? ""
             : fmt::format("# Made by 'ddpsim' of {}\n{}", one_line(typed()), scenario_text(root, file, out));
}

std::string ScenarioOptions::typed_as_file() const {
  bool is_file = !is_launched && !is_model && launch.words().empty() && job.words().empty();
  return is_file ? typed() : out.empty() || out == "-" ? "job.yaml" : out;
}

std::string ScenarioOptions::typed() const {
  auto launched = fmt::format("{}", fmt::join(launch.words(), " "));
  auto typed = is_launched ? launched : file;
  if (!is_launched && !launched.empty()) typed += " " + launched;
  for (const auto& word : job.words()) typed += " " + word;
  for (const auto& one : overrides) typed += " --set '" + one + "'";
  return typed;
}

void ScenarioOptions::check_outputs(const std::vector<std::pair<std::string, std::string>>& more) const {
  auto outputs = more;
  outputs.insert(outputs.begin(), {{"--json", json}, {"--csv", csv}});
  if (!out.empty()) outputs.emplace_back("--out", out);
  cli::check_outputs(outputs);
}

void check_outputs(const std::vector<std::pair<std::string, std::string>>& outputs) {
  std::map<std::string, std::string> taken;  // path -> option
  for (const auto& [option, path] : outputs) {
    if (path.empty()) continue;
    bool to_stdout = path == "-" && std::ranges::find(kToStandardOutput, option) != kToStandardOutput.end();
    if (!to_stdout) {
      check_writable(path, option);
      announce_output(path, fmt::format("{} {}", option, path));
    }
    if (path.starts_with("/dev/")) continue;
    auto [first, is_new] = taken.emplace(path, option);
    if (is_new) continue;
    throw InputError(fmt::format("{0} {1} and {2} {1} both want {3}", first->second, path, option,
                                 to_stdout ? "standard output" : "that file"),
                     "give each a file of its own");
  }
}

void write_output(const std::string& destination, const std::function<std::string()>& text) {
  if (!destination.empty()) write_output(destination, text());
}

void write_output(const std::string& destination, const std::string& text) {
  if (destination.empty()) return;
  if (destination == "-")
    std::cout << text;
  else
    write_whole_file(destination, text);
}

Option draws_option(int* draws) {
  return {
      .name = "--draws",
      .value = draws,
      .description =
          "Simulate so many draws of what nobody measured, all of it at once, for the interval and the odds "
          "(default: 1024 draws that a few simulations of each quantity are interpolated for)",
      .type = "N",
      .range = {{16, 4096}}};
}

void check_draws(int draws, bool has_evidence) {
  if (draws > 0 && !has_evidence)
    throw InputError("--draws draws what is in doubt, and with 'evidence: none' nothing is",
                     "leave one of them out");
}

}  // namespace ddpsim::cli
