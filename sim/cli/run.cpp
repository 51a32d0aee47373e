#include "sim/cli/run.hpp"

#include <memory>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "sim/base/program_exit.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/commit.hpp"
#include "sim/result/run_info.hpp"

namespace ddpsim::cli {
namespace {

Command help_command() {
  auto words = std::make_shared<std::vector<std::string>>();
  return {.name = std::string(kHelpCommand),
          .description = "Print the help of a command",
          .example = "  ddpsim help topology costs",
          .options = {{.name = "COMMAND",
                       .value = words.get(),
                       .description = "Which; without it the list of commands"}},
          .run = [words] {}};
}

}  // namespace

Command program() {
  return {.name = "ddpsim",
          .description =
              "Predicts how long a data-parallel training iteration takes on a cluster, and which "
              "bucket size is best.",
          .example = "  ddpsim sweep configs/quickstart.yaml --plot sweep.svg",
          .commands = {simulate_command(), sweep_command(), merge_command(), scale_command(), plan_command(),
                       memory_command(), program_command(), calibrate_command(), topology_command(),
                       trace_command(), list_command(), show_command(), schema_command(), init_command(),
                       capture_command(), validate_command(), completion_command(), man_command(),
                       help_command()}};
}

int run(int argc, char** argv) {
  start_program();
  try {
    auto tool = tool_info();
    std::string commit = *kCommit == '\0' ? "" : fmt::format("commit {}, ", kCommit);
    parse_command_line(program(), fmt::format("ddpsim {} ({}SimGrid {})", tool.version, commit, tool.simgrid),
                       argc, argv)();
    check_standard_output();
    return kOk;
  } catch (...) {
    return fail_with_current_exception();
  }
}

}  // namespace ddpsim::cli
