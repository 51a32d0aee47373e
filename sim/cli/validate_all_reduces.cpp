// `validate --workload allreduce` and `chunks`: collectives of their own, in the columns of nccl-tests.
#include <iostream>

#include "validate/comparison/calibration.hpp"
#include <fmt/core.h>

#include "sim/base/output_file.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/statistics.hpp"
#include "sim/cli/real_runs.hpp"
#include "sim/cli/validate.hpp"
#include "sim/cli/validate_plan.hpp"

namespace ddpsim::cli {
namespace {

void print_all_reduces(const std::vector<validate::MeasuredCollective>& measured, int world_size) {
  fmt::print("{:>12} {:>12} {:>9} {:>10} {:>10} {:>12}\n", "bytes", "time us", "+-%", "algbw GB/s",
             "busbw GB/s", "queued us");
  for (const auto& one : measured)
    fmt::print("{:>12.0f} {:>12.1f} {:>9} {:>10.4f} {:>10.4f} {:>12}\n", one.message.bytes.value(),
               1e6 * one.time.value(),
               one.spread ? fmt::format("{:.1f}", 100 * (*one.spread / one.time)) : "-",
               1e-9 * one.algbw().value(), 1e-9 * one.busbw(world_size).value(),
               one.queued ? fmt::format("{:.1f}", 1e6 * one.queued->value()) : "-");
}

struct MeasuredChunks {
  Bytes chunk;
  std::size_t chunks = 0;
  Seconds time;
};

void print_chunks(const std::vector<MeasuredChunks>& measured, Bytes total) {
  fmt::print("{} all-reduced in chunks, launched at once\n{:>12} {:>9} {:>12} {:>10}\n", format_bytes(total),
             "chunk bytes", "chunks", "time ms", "algbw GB/s");
  for (const auto& one : measured)
    fmt::print("{:>12.0f} {:>9} {:>12.3f} {:>10.4f}\n", one.chunk.value(), one.chunks, 1e3 * one.time.value(),
               1e-9 * (total / one.time).value());
}

std::string chunks_csv(const std::vector<MeasuredChunks>& measured) {
  std::string text = "chunk_bytes,chunks,time_s\n";
  for (const auto& one : measured)
    text += fmt::format("{:.0f},{},{}\n", one.chunk.value(), one.chunks, one.time.value());
  return text;
}

// Chunks that are far too small to be of interest would take hours.
std::vector<Bytes> chunk_sizes(const std::vector<Message>& messages, Bytes total) {
  constexpr double kMostChunks = 512;
  std::vector<Bytes> sizes;
  for (const auto& message : messages)
    if (message.bytes * kMostChunks >= total && message.bytes <= 2 * total) sizes.push_back(message.bytes);
  return sizes;
}

std::vector<MeasuredChunks> measured_chunks(const validate::RunResult& run, const std::vector<Bytes>& sizes) {
  std::vector<MeasuredChunks> measured;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    std::vector<double> totals;
    for (auto total : run.steps[i].totals) totals.push_back(total.value());
    measured.push_back({sizes[i], run.steps[i].collectives.size(), Seconds(median(totals))});
  }
  return measured;
}

}  // namespace

void time_all_reduces(const ValidateOptions& options) {
  if (!options.plot.empty() || !options.out.empty() || !options.scenario.json.empty() ||
      !options.measured.empty() || options.buckets)
    throw InputError(fmt::format("--workload {} writes a table (--csv), and nothing else", options.workload),
                     "remove --plot, --out, --json, --measured and --buckets");
  RealScenario scenario(options);
  RealRuns runs(scenario.first().validation, scenario.world_size(), options.one_process, options.quiet());
  auto wanted = scenario.messages();
  for (auto& message : wanted) message.operation = Operation::all_reduce;
  auto messages = validate::calibration_messages(wanted);
  bool in_chunks = options.workload == "chunks";
  Bytes total = scenario.first().trace->bytes();
  auto sizes = chunk_sizes(messages, total);
  auto job = in_chunks ? scenario.job(validate::chunk_steps(total, sizes, options.sampling()))
                       : scenario.calibration_job(validate::calibration_steps(messages, scenario.world_size(),
                                                                              options.sampling()));
  auto run = runs.run(job);
  if (!run) return;
  if (options.scenario.prints_summary()) fmt::print("{}\n", runs.describe());
  if (in_chunks) {
    auto measured = measured_chunks(*run, sizes);
    if (options.scenario.prints_summary()) print_chunks(measured, total);
    write_output(options.scenario.csv, chunks_csv(measured));
  } else {
    auto measured = validate::measured_collectives(*run, messages);
    if (options.scenario.prints_summary()) print_all_reduces(measured, scenario.world_size());
    write_output(options.scenario.csv,
                 validate::collective_table(measured, scenario.world_size(), runs.backend(),
                                            "ddpsim validate --workload allreduce; " + runs.describe()));
  }
}

}  // namespace ddpsim::cli
