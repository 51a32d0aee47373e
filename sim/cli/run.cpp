#include "sim/cli/run.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "sim/base/program_exit.hpp"
#include "sim/base/standard_error.hpp"
#include "sim/base/terminal.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/commit.hpp"
#include "sim/job/rows/table.hpp"
#include "sim/report/key_help.hpp"
#include "sim/result/run_info.hpp"

namespace ddpsim::cli {
namespace {

Command help_command() {
  auto words = std::make_shared<std::vector<std::string>>();
  return {.name = std::string(kHelpCommand),
          .description = "Print the help of a command, or what a key of scenarios is",
          .example = "  ddpsim help topology costs\n  ddpsim help ddp.bucket_cap",
          .options = {{.name = "COMMAND",
                       .value = words.get(),
                       .description = "Which, or a key; without it the list of commands",
                       .names = [] { return key_paths(); }}},
          .run = [words] {}};
}

// Commands that have moved: the old words work for one release, with a note.
constexpr std::array kMoved{std::pair("merge", "results"), std::pair("schema", "internals"),
                            std::pair("completion", "internals"), std::pair("man", "internals")};

std::vector<const char*> where_it_moved(int argc, const char* const* argv) {
  std::vector<const char*> words(argv, argv + argc);
  if (argc < 2) return words;
  auto moved = std::ranges::find(kMoved, std::string_view(argv[1]),
                                 [](const auto& one) { return std::string_view(one.first); });
  if (moved == kMoved.end()) return words;
  print_stderr("note: 'ddpsim {0}' is 'ddpsim {1} {0}' now\n", moved->first, moved->second);
  words.insert(words.begin() + 1, moved->second);
  return words;
}

// Of every command that runs.
void add_look(Command& command, TerminalWish& wish) {
  for (auto& below : command.commands) add_look(below, wish);
  if (!command.commands.empty()) return;
  command.options.push_back({.name = "--width",
                             .value = &wish.width,
                             .description =
                                 "Columns of the output (default: COLUMNS, or the terminal's; a pipe gets "
                                 "all, and nothing is wrapped)",
                             .range = {{40, 1000}}});
  command.options.push_back(
      {.name = "--color",
       .value = &wish.colour,
       .description = "Colours, which NO_COLOR and CLICOLOR_FORCE turn off and on as well",
       .shows_default = true,
       .words = {"auto", "always", "never"}});
}

// "help ddp.bucket_cap", "help gpus": a key by its path, or by what others call it.
std::optional<std::string> help_of_key(int argc, const char* const* argv) {
  if (argc != 3 || argv[1] != kHelpCommand) return std::nullopt;
  std::string word = argv[2];
  auto commands = program().commands;
  if (word.starts_with("-") || std::ranges::find(commands, word, &Command::name) != commands.end())
    return std::nullopt;
  auto text = key_help(job_table(), word);
  if (!text.empty()) return text;
  try {
    return key_help(job_table(), key_path(word));
  } catch (const InputError&) {
    if (word.find('.') != std::string::npos) throw;
    return std::nullopt;  // a command that does not exist
  }
}

}  // namespace

Command program() {
  return {.name = "ddpsim",
          .description = "How long a training step takes on a cluster, and what makes it shorter.",
          .example =
              "  ddpsim plan llama-3-8b --on superpod-h100 --gpus 64 --batch 512 --sequence 8192\n"
              "  ddpsim memory llama-3-8b --on dgx-h100 --gpus 8 --sequence 8192\n"
              "  ddpsim sweep configs/quickstart.yaml --plot sweep.svg",
          .commands = {plan_command(), simulate_command(), sweep_command(), scale_command(), memory_command(),
                       results_command(), calibrate_command(), validate_command(), capture_command(),
                       topology_command(), trace_command(), program_command(), list_command(), show_command(),
                       init_command(), help_command(), internals_command()}};
}

int run(int argc, char** argv) {
  start_program();
  try {
    if (auto text = help_of_key(argc, argv)) {
      fmt::print("{}", *text);
      check_standard_output();
      return kOk;
    }
    auto words = where_it_moved(argc, argv);
    auto tool = tool_info();
    std::string commit = *kCommit == '\0' ? "" : fmt::format("commit {}, ", kCommit);
    TerminalWish wish;
    auto all = program();
    add_look(all, wish);
    auto chosen =
        parse_command_line(all, fmt::format("ddpsim {} ({}SimGrid {})", tool.version, commit, tool.simgrid),
                           static_cast<int>(words.size()), words.data());
    choose_terminals(wish);
    chosen();
    check_standard_output();
    return kOk;
  } catch (...) {
    return fail_with_current_exception();
  }
}

}  // namespace ddpsim::cli
