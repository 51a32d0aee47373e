#include <iostream>
#include <memory>
#include <optional>

#include <fmt/core.h>

#include "sim/base/quantity.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/notes.hpp"
#include "sim/cli/scenario_options.hpp"
#include "sim/cli/table_outputs.hpp"
#include "sim/ddp/ddp_rules.hpp"
#include "sim/ddp/recorded_buckets.hpp"
#include "sim/report/bucket_table.hpp"
#include "sim/report/charts.hpp"
#include "sim/report/trace_report.hpp"
#include "sim/trace/plausible_trace.hpp"
#include "sim/trace/trace_file.hpp"
#include "sim/trace/trace_summary.hpp"

namespace ddpsim::cli {
namespace {

struct TraceShowOptions {
  std::string file, plot;
  TableOutputs outputs;
  std::optional<std::string> bucket_cap, first_bucket_cap, torch, recorded;
};

Located located(const char* option, const std::string& text) {
  return {text, whole_file(make_source(option, text))};
}

TorchVersion parse_torch(const std::string& text) {
  if (auto version = parse_torch_version(text)) return *version;
  throw InputError(fmt::format("--torch: '{}' is not a PyTorch version", text), "write it like 2.6");
}

DdpOptions ddp_options(const TraceShowOptions& options) {
  DdpOptions ddp;
  if (options.bucket_cap) ddp.bucket_cap = parse_bytes(located("--bucket-cap", *options.bucket_cap));
  if (options.first_bucket_cap)
    ddp.first_bucket_cap = parse_bytes(located("--first-bucket-cap", *options.first_bucket_cap));
  if (options.torch) ddp.torch = parse_torch(*options.torch);
  return ddp;
}

std::string show(const CapInterval& interval) {
  if (!interval.largest) return fmt::format("{} B or more", interval.smallest.value());
  return fmt::format("{} B to {} B ({} to {})", interval.smallest.value(), interval.largest->value(),
                     format_bytes(interval.smallest), format_bytes(*interval.largest));
}

// Which caps explain the recorded buckets.
void print_caps(const RecordedCommunication& recorded, const LayerTrace& trace, const DdpOptions& ddp) {
  auto n = recorded.collectives.size();
  std::cout << fmt::format("\nrecorded {} all-reduce{}: ", n, n == 1 ? "" : "s");
  auto found = options_that_give(recorded.collectives, trace, ddp);
  if (!found) {
    std::cout << "no bucket cap puts these gradients into those buckets\n";
    return;
  }
  std::cout << fmt::format("PyTorch's buckets with {}\n", describe_caps(*found));
  for (const auto& caps : caps_that_give(recorded.collectives, trace, ddp))
    std::cout << fmt::format("  first_bucket_cap  {}\n  bucket_cap        {}\n", show(caps.first),
                             show(caps.later));
}

void show_trace(const TraceShowOptions& options) {
  options.outputs.check({{"--plot", options.plot}});
  check_plot_path(options.plot);
  auto ddp = ddp_options(options);
  auto trace = read_trace(options.file);
  auto plan = make_reduction_plan(trace, Reducer::ddp, ddp);
  std::optional<RecordedCommunication> recorded;
  if (options.recorded) recorded = read_recorded_communication(*options.recorded);
  auto notes = trace_notes(trace);
  bool prints = options.outputs.prints();
  if (prints) std::cout << summarize(trace);
  print_notes(notes);
  bool has_caps = options.bucket_cap || options.first_bucket_cap || options.torch;
  if (has_caps && prints) print_bucket_table(std::cout, trace, plan);
  if (recorded && prints) print_caps(*recorded, trace, ddp);
  TraceReport report{options.file, notes, {}, {}};
  if (has_caps) report.plan = plan;
  if (recorded) report.recorded_caps = caps_that_give(recorded->collectives, trace, ddp);
  options.outputs.write([&] { return trace_json(trace, report); },
                        [&] { return trace_table_csv(trace, report); });
  OutputPhase writing;
  write_output(options.plot, [&] { return svg(backward_chart(trace, plan)); });
}

Command trace_show_command() {
  auto options = std::make_shared<TraceShowOptions>();
  Command command{
      .name = "show",
      .description = "Summary of a layer trace, its buckets, a picture",
      .example = "  ddpsim trace show traces/gpt2-large-a100-bs4.csv --bucket-cap 100MiB --plot trace.svg",
      .options =
          {{.name = "FILE", .value = &options->file, .description = "Layer trace (CSV)", .is_required = true},
           output_option("--plot", &options->plot,
                         "Draw the arrival of gradients and of complete buckets (.svg)"),
           {.name = "--bucket-cap",
            .value = &options->bucket_cap,
            .description = "PyTorch's bucket_cap_mb, as a size (25MiB)",
            .type = "SIZE"},
           {.name = "--first-bucket-cap",
            .value = &options->first_bucket_cap,
            .description = "Cap of the first bucket",
            .type = "SIZE"},
           {.name = "--torch",
            .value = &options->torch,
            .description = "Whose bucketing rules (2.6)",
            .type = "VERSION"},
           {.name = "--recorded",
            .value = &options->recorded,
            .description = "Recorded collectives (CSV): say which caps give their buckets",
            .type = "PATH"}},
      .run = [options] { show_trace(*options); }};
  options->outputs.add_to(command);
  return command;
}

}  // namespace

Command trace_command() {
  return {.name = "trace",
          .description = "Look at layer traces, import and estimate them",
          .example = "  ddpsim trace show traces/gpt2-large-a100-bs4.csv",
          .commands = {trace_show_command(), trace_import_command(), trace_compare_command(),
                       trace_synthesize_command()}};
}

}  // namespace ddpsim::cli
