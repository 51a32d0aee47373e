// `ddpsim completion` and `ddpsim man`: the command line for shells and for man.
#include <memory>

#include <fmt/core.h>

#include "sim/cli/commands.hpp"
#include "sim/command_line/command_texts.hpp"
#include "sim/result/run_info.hpp"

namespace ddpsim::cli {

Command completion_command() {
  auto shell = std::make_shared<std::string>();
  return {.name = "completion",
          .description = "Print what a shell needs to complete commands and options",
          .example = "  ddpsim completion bash",
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
          .example = "  ddpsim man > ddpsim.1",
          .run = [] { fmt::print("{}", man_page(program(), "ddpsim " + tool_info().version)); }};
}

}  // namespace ddpsim::cli
