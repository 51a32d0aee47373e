#pragma once
// The subcommands. Each function adds its options to `app` and arranges for `run` to hold what is to be done
// once the command line is parsed.
#include <functional>

#include <CLI/CLI.hpp>

namespace ddpsim::cli {

using Action = std::function<void()>;

void add_calibrate(CLI::App& app, Action& run);
void add_capture(CLI::App& app, Action& run);
void add_simulate(CLI::App& app, Action& run);
void add_sweep(CLI::App& app, Action& run);
void add_topology(CLI::App& app, Action& run);
void add_topology_import(CLI::App& topology, Action& run);  // a subcommand of `topology`
void add_topology_nccl(CLI::App& topology, Action& run);    // another
void add_trace(CLI::App& app, Action& run);
void add_validate(CLI::App& app, Action& run);
void add_trace_import(CLI::App& trace, Action& run);      // a subcommand of `trace`
void add_trace_synthesize(CLI::App& trace, Action& run);  // another

}  // namespace ddpsim::cli
