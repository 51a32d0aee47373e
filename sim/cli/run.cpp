#include "sim/cli/run.hpp"

#include <iostream>

#include <fmt/format.h>

#include "sim/base/program_exit.hpp"
#include "sim/base/source.hpp"
#include "sim/base/suggest.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/version.hpp"
#include "sim/engine/simgrid/simgrid_simulator.hpp"

namespace ddpsim::cli {
namespace {

// The first argument that `command` could not place, with what may have been meant; empty when it placed all.
std::string unexpected_argument(const CLI::App& command) {
  auto extras = command.remaining();
  if (extras.empty()) return {};
  std::vector<std::string> known;
  for (const auto* option : command.get_options()) known.push_back(option->get_name());
  for (const auto* subcommand : command.get_subcommands({})) known.push_back(subcommand->get_name());
  return fmt::format("unexpected argument '{}'{}", extras.front(), did_you_mean(extras.front(), known));
}

int usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* command = &app;
  for (auto chosen = command->get_subcommands(); !chosen.empty(); chosen = command->get_subcommands())
    command = chosen.front();
  std::string path = command->get_name();
  for (const CLI::App* parent = command->get_parent(); parent; parent = parent->get_parent())
    path = parent->get_name() + " " + path;
  std::string message = unexpected_argument(*command);
  if (message.empty()) message = error.what();
  return fail({kBadInput, fmt::format("error: {}\nhint: see '{} --help'", message, path)});
}

void run_command(CLI::App& app, int argc, char** argv) {
  app.set_version_flag("--version", fmt::format("ddpsim {} (SimGrid {})", kVersion, simgrid_version()));
  app.require_subcommand(1);
  app.footer("Example:\n  ddpsim sweep configs/quickstart.yaml --plot sweep.svg");
  app.get_formatter()->column_width(34);
  Action action;
  add_simulate(app, action);
  add_sweep(app, action);
  add_calibrate(app, action);
  add_topology(app, action);
  add_trace(app, action);
  add_capture(app, action);
  add_validate(app, action);
  try {
    app.parse(argc, argv);
    action();
  } catch (const CLI::Success& help) {
    app.exit(help);
  }
  check_standard_output();
}

}  // namespace

int run(int argc, char** argv) {
  start_program();
  try {
    CLI::App app(
        "Predicts how long a data-parallel training iteration takes on a cluster, and which bucket size is "
        "best.",
        "ddpsim");
    try {
      run_command(app, argc, argv);
      return kOk;
    } catch (const CLI::ParseError& error) {
      return usage_error(app, error);
    }
  } catch (...) {
    return fail_with_current_exception();
  }
}

}  // namespace ddpsim::cli
