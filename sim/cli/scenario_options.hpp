#pragma once
// What `simulate` and `sweep` share: the scenario file with its overrides, where results go, and who
// simulates.
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/program_exit.hpp"
#include "sim/cli/job_options.hpp"
#include "sim/cli/launch_options.hpp"
#include "sim/command_line/command_line.hpp"
#include "sim/config/value.hpp"
#include "sim/result/run_info.hpp"
#include "sim/result/sweep_result.hpp"
#include "sim/study/scenario_metrics.hpp"

namespace ddpsim::cli {

struct ScenarioOptions {
  std::string file;
  std::vector<std::string> overrides;
  std::string json, csv;  // a path, or "-" for standard output; empty: not wanted
  LaunchOptions launch;
  JobOptions job;
  std::string out;           // of a job that is no scenario, or with these in it; empty: none
  bool is_launched = false;  // without a scenario: `file` is the launch file
  bool takes_models = false;
  bool is_model = false;      // or the name of a model, or its file
  bool sizes_itself = false;  // the command says on how many GPUs
  bool quiet = false;

  void add_to(Command& command);
  void add_file_to(Command& command);  // and --set alone
  // A model or a launch file in place of FILE, a launch file and words of a job beside it, but for options
  // that the command has itself, and --out, the scenario.
  void add_job_to(Command& command, std::initializer_list<std::string_view> without = {});
  // --iterations and --seed, which stand for keys of the section `variability`.
  void add_iterations_to(Command& command);
  // Loads the scenario file and applies --set, and a launch file, of which there may be notes.
  [[nodiscard]] config::Value load(std::vector<Note>& notes, bool sweeps = false) const;
  [[nodiscard]] config::Value load() const;
  // The scenario as a file for --out; empty: it is not wanted.
  [[nodiscard]] std::string written(const config::Value& root) const;
  // What to type for it again: "train.yaml --set 'a=b'".
  [[nodiscard]] std::string typed() const;
  // The same for commands that take a scenario alone: what --out writes, where there is more to the job.
  [[nodiscard]] std::string typed_as_file() const;
  // True when the console summary goes to standard output.
  [[nodiscard]] bool prints_summary() const { return !quiet && json != "-" && csv != "-" && out != "-"; }
  // Throws InputError for outputs that cannot be written, before anything is computed.
  // `more` are the command's other outputs as (option, path).
  void check_outputs(const std::vector<std::pair<std::string, std::string>>& more) const;
};

// An option that names a file to write; an empty name, as from an unset shell variable, is refused.
Option output_option(std::string name, std::string* path, std::string description, std::string type = "PATH");

// The same for outputs as (option, path); an empty path is none. "-" is standard output for --json, --csv,
// --out, --svg and --dot. From then on reading one of them is an error.
void check_outputs(const std::vector<std::pair<std::string, std::string>>& outputs);

// Writes a finished output: to standard output for "-", else to a file at once; nothing, without asking for
// the text, where no destination is named.
void write_output(const std::string& destination, const std::function<std::string()>& text);
void write_output(const std::string& destination, const std::string& text);

// --draws: so many simulations for an interval, in place of curves; 0 without it.
Option draws_option(int* draws);
// Throws InputError for draws of what nobody asks.
void check_draws(int draws, bool has_evidence);

}  // namespace ddpsim::cli
