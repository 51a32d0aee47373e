// `ddpsim internals`: the command line for shells and for man, the keys of a scenario for editors.
#include <memory>

#include <fmt/core.h>

#include "sim/cli/commands.hpp"
#include "sim/command_line/command_texts.hpp"
#include "sim/job/rows/table.hpp"
#include "sim/report/scenario_schema.hpp"
#include "sim/result/run_info.hpp"

namespace ddpsim::cli {

namespace {

Command completion_command() {
  auto shell = std::make_shared<std::string>();
  return {.name = "completion",
          .description = "Print what a shell needs to complete commands and options",
          .example = "  ddpsim internals completion bash",
          .options = {{.name = "SHELL",
                       .value = shell.get(),
                       .description = "bash (source it) or zsh (a file _ddpsim in its fpath)",
                       .is_required = true,
                       .words = {"bash", "zsh"}}},
          .run = [shell] {
            fmt::print("{}", *shell == "bash" ? bash_completion(program()) : zsh_completion(program()));
          }};
}

Command man_command() {
  return {.name = "man",
          .description = "Print the page that man shows",
          .example = "  ddpsim internals man > ddpsim.1",
          .run = [] { fmt::print("{}", man_page(program(), "ddpsim " + tool_info().version)); }};
}

Command schema_command() {
  return {.name = "schema",
          .description = "Print the JSON schema of scenarios, for editors that complete and check them",
          .example = "  ddpsim internals schema > scenario.schema.json",
          .run = [] { fmt::print("{}", scenario_schema(job_table())); }};
}

}  // namespace

Command internals_command() {
  return {
      .name = "internals",
      .description = "For shells, man and editors: completion, the manual's page, the schema of scenarios",
      .example = "  ddpsim internals schema > scenario.schema.json",
      .commands = {completion_command(), man_command(), schema_command()}};
}

}  // namespace ddpsim::cli
