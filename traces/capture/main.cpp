// ddpsim-capture: `ddpsim capture` becomes this program, so that ddpsim itself need not load LibTorch.
#include <iostream>

#include "traces/capture/capture.hpp"
#include <fmt/core.h>

#include "sim/base/output_file.hpp"
#include "sim/base/program_exit.hpp"
#include "sim/base/standard_error.hpp"
#include "sim/trace/trace_file.hpp"

namespace {

void print_summary(const ddpsim::CaptureOptions& options, const ddpsim::Captured& captured) {
  const auto& trace = captured.trace;
  std::int64_t elements = 0;
  for (const auto& gradient : trace.gradients) elements += gradient.elements;
  fmt::print("{} on {}: {} gradients, {} elements\n", options.model, *trace.metadata.device,
             trace.gradients.size(), elements);
  fmt::print("forward {:.4g} ms, backward {:.4g} ms, optimizer {:.4g} ms", 1e3 * trace.forward->value(),
             1e3 * trace.backward().value(), 1e3 * trace.optimizer->value());
  if (options.iterations > 1)
    fmt::print("; medians of {} steps, half of which had a backward within {:.2g} % of its median",
               options.iterations, 100 * captured.spread);
  fmt::print("\nwrote {}\n", options.out);
}

void run(const ddpsim::CaptureOptions& options) {
  auto captured = ddpsim::capture(options);
  for (const auto& remark : captured.remarks) ddpsim::print_stderr("note: {}\n", remark);
  auto text = ddpsim::write_trace(captured.trace);
  ddpsim::OutputPhase writing;
  if (!options.steps.empty()) ddpsim::write_whole_file(options.steps, captured.steps);
  if (options.out == "-") {
    std::cout << text;
    return;
  }
  ddpsim::write_whole_file(options.out, text);
  if (!options.quiet) print_summary(options, captured);
}

}  // namespace

int main(int argc, char** argv) {
  ddpsim::start_program();
  try {
    ddpsim::CaptureOptions options;
    ddpsim::Command program{.name = "ddpsim-capture",
                            .description = "Records a layer trace with LibTorch",
                            .run = [&options] { run(options); }};
    options.add_to(program);
    ddpsim::parse_command_line(program, "", argc, argv)();
    ddpsim::check_standard_output();
    return ddpsim::kOk;
  } catch (...) {
    return ddpsim::fail_with_current_exception();
  }
}
