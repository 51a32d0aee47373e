#include <memory>

#include "sim/cli/calibrate_overlap.hpp"
#include "sim/cli/calibrate_profile.hpp"
#include "sim/cli/calibrate_tables.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/scenario_options.hpp"

namespace ddpsim::cli {
namespace {

struct CalibrateOptions {
  TableOptions tables;
  // Of interference.
  std::string overlap, measured, overlap_profile, alone, algbw;
  std::vector<std::string> overrides;
  bool accept = false;
};

void run_calibrate(const CalibrateOptions& options) {
  const auto& out = options.tables.out;
  bool quiet = options.tables.quiet;
  if (!options.overlap.empty())
    return calibrate_overlap({options.overlap, options.measured, out, options.overrides, quiet, options.accept});
  if (!options.overlap_profile.empty())
    return calibrate_profile({options.overlap_profile, options.alone, options.algbw, out, quiet});
  calibrate_tables(options.tables);
}

}  // namespace

void add_calibrate(CLI::App& app, Action& run) {
  auto* command = app.add_subcommand("calibrate", "Fit NCCL's cost model to measured all-reduce times");
  auto options = std::make_shared<CalibrateOptions>();
  command->add_option(
      "FILE", options->tables.machines,
      "Tables of one machine: nccl-tests output, CSV or JSON; several joined by commas. Each "
      "further argument is another machine: their curves are averaged. FILE@2+4 takes a file's "
      "tables of 2 and 4 GPUs, FILE@8/half those of a data type");
  auto* topology = command->add_option("--topology", options->tables.topology,
                                       "The machine's topology, with a section nccl");
  auto* overlap =
      command
          ->add_option("--overlap", options->overlap,
                       "Fit instead how strongly compute and communication slow one another down, to an "
                       "overlapped iteration of this scenario")
          ->type_name("SCENARIO");
  auto* measured =
      command
          ->add_option("--measured", options->measured,
                       "Measured iterations (CSV); the one of the scenario's strategy and cap counts")
          ->type_name("PATH");
  auto* set = command
                  ->add_option("--set", options->overrides,
                               "Override a key of that scenario (repeatable): strategy=overlap")
                  ->type_name("KEY=VALUE")
                  ->allow_extra_args(false);
  auto* overlap_profile =
      command
          ->add_option(
              "--overlap-profile", options->overlap_profile,
              "The same from a trace of the PyTorch profiler with both: kernels beside collectives are "
              "compared with the same kernels alone")
          ->type_name("TRACE.json[.gz]");
  auto* alone = command
                    ->add_option("--alone", options->alone,
                                 "A trace of the same model without communication, or with none beside "
                                 "compute, to compare with as well")
                    ->type_name("TRACE.json[.gz]");
  auto* algbw =
      command
          ->add_option("--algbw", options->algbw,
                       "What its all-reduces reach when no rank waits (nccl-tests' algbw): their time "
                       "in flight beyond that is waiting, and does not count")
          ->type_name("BANDWIDTH");
  command->add_option("--world-size", options->tables.world_size, "GPUs of tables that do not say")
      ->check(CLI::Range(2, 1 << 20));
  command
      ->add_option("--algorithm", options->tables.algorithm,
                   "The algorithm that NCCL was forced to (NCCL_ALGO)")
      ->check(CLI::IsMember({"ring", "tree", "nvls"}));
  command
      ->add_option(
          "--judge", options->tables.judged,
          "Tables to compare with but not to fit to (repeatable; without FILE: with the topology's own "
          "calibration)")
      ->type_name("FILE")
      ->allow_extra_args(false);
  command->add_flag("--every-other-size", options->tables.every_other_size,
                    "Fit to every other size of each machine and judge on the rest");
  command->add_flag("--from-nothing", options->tables.from_nothing,
                    "Do not start from the topology's calibration: only the tables count");
  add_output(*command, "--out", options->tables.out, "Write the calibration; '-' is standard output")
      ->type_name("PATH|-");
  add_output(*command, "--json", options->tables.json,
             "Write curves and points as JSON; '-' is standard output")
      ->type_name("PATH|-");
  add_output(*command, "--plot", options->tables.plot,
             "Draw measured and predicted bandwidth (.svg or .png)");
  command->add_flag("--quiet", options->tables.quiet, "No summary");
  overlap->needs(measured)->excludes(topology);
  overlap_profile->excludes(topology)->excludes(overlap);
  for (const char* of_tables : {"FILE", "--world-size", "--algorithm", "--judge", "--every-other-size",
                                "--from-nothing", "--json", "--plot"})
    for (auto* of_interference : {overlap, overlap_profile}) of_interference->excludes(of_tables);
  command
      ->add_flag("--accept", options->accept,
                 "Take an interference above 1, which no published run showed")
      ->needs(overlap);
  measured->needs(overlap);
  set->needs(overlap);
  alone->needs(overlap_profile);
  algbw->needs(overlap_profile);
  command->footer(
      "Example:\n  ddpsim calibrate measurements/galvatron_8xA100-40GB.csv --topology "
      "topologies/dgx-a100.yaml "
      "--out my-a100.yaml");
  command->callback([options, &run] { run = [options] { run_calibrate(*options); }; });
}

}  // namespace ddpsim::cli
