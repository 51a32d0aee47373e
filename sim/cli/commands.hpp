#pragma once
// The subcommands.
#include "sim/command_line/command_line.hpp"

namespace ddpsim::cli {

Command program();  // all of them

Command calibrate_command();
Command capture_command();
Command internals_command();  // for shells, man and editors
Command init_command();
Command list_command();
Command memory_command();
Command scale_command();
Command show_command();
Command plan_command();
Command program_command();
Command simulate_command();
Command sweep_command();
Command results_command();
Command topology_command();
Command topology_costs_command();   // a subcommand of `topology`
Command topology_import_command();  // a subcommand of `topology`
Command topology_nccl_command();    // another
Command trace_command();
Command trace_import_command();
Command trace_compare_command();     // a subcommand of `trace`
Command trace_synthesize_command();  // another
Command validate_command();

}  // namespace ddpsim::cli
