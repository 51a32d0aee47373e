#include <iostream>
#include <memory>

#include "sim/cli/commands.hpp"
#include "sim/trace/trace_file.hpp"
#include "sim/trace/trace_summary.hpp"

namespace ddpsim::cli {
namespace {

void add_show(CLI::App& trace, Action& run) {
  auto* command = trace.add_subcommand("show", "Summary of a layer trace");
  auto file = std::make_shared<std::string>();
  command->add_option("FILE", *file, "Layer trace (CSV)")->required();
  command->footer("Example:\n  ddpsim trace show traces/gpt2-large-a100-bs4.csv");
  command->callback([file, &run] { run = [file] { std::cout << summarize(read_trace(*file)); }; });
}

}  // namespace

void add_trace(CLI::App& app, Action& run) {
  auto* trace = app.add_subcommand("trace", "Look at layer traces and import them from other formats");
  trace->require_subcommand(1);
  trace->footer("Example:\n  ddpsim trace show traces/gpt2-large-a100-bs4.csv");
  add_show(*trace, run);
  add_trace_import(*trace, run);
}

}  // namespace ddpsim::cli
