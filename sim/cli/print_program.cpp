// `ddpsim program`: what a rank of a job does, as text that a scenario can name.
#include <memory>

#include <fmt/core.h>

#include "sim/base/output_file.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/notes.hpp"
#include "sim/cli/scenario_options.hpp"
#include "sim/engine/written_programs.hpp"
#include "sim/resolve/resolve.hpp"
#include "sim/resolve/unused_axes.hpp"

namespace ddpsim::cli {
namespace {

struct ProgramOptions : ScenarioOptions {
  std::string out;
};

void print_program(const ProgramOptions& options) {
  check_outputs({{"--out", options.out}});
  auto root = options.load();
  take_unused_axes(root);
  auto scenario = resolve(Files(options.file), root);
  if (!options.quiet) print_notes(scenario.notes);
  if (!options.quiet && !scenario.plan.buffer_broadcasts.empty())
    print_notes(std::vector{
        Note{"program-broadcasts", "broadcasts of buffers come before the step: the program has none"}});
  OutputPhase writing;
  write_output(options.out, [&] { return write_program(written_program(scenario)); });
}

}  // namespace

Command program_command() {
  auto options = std::make_shared<ProgramOptions>();
  options->out = "-";
  Command command{.name = "program",
                  .description = "What a rank does in a step, as text that a scenario can name",
                  .example = "  ddpsim program configs/quickstart.yaml --set strategy=fsdp",
                  .run = [options] { print_program(*options); }};
  options->add_file_to(command);
  command.options.push_back(output_option("--out", &options->out, "Write it to a file", "PATH|-"));
  command.options.push_back({.name = "--quiet", .value = &options->quiet, .description = "No notes"});
  return command;
}

}  // namespace ddpsim::cli
