#include <memory>
#include <optional>

#include "sim/base/limits.hpp"
#include "sim/cli/calibrate_overlap.hpp"
#include "sim/cli/calibrate_profile.hpp"
#include "sim/cli/calibrate_step.hpp"
#include "sim/cli/calibrate_tables.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/preset_options.hpp"
#include "sim/cli/scenario_options.hpp"
#include "sim/text/presets.hpp"

namespace ddpsim::cli {
namespace {

struct CalibrateOptions {
  TableOptions tables;
  // Of interference.
  std::string overlap, measured, overlap_profile, alone, algbw;
  std::vector<std::string> overrides;
  bool all_rows = false;
  std::string step, share;
  std::optional<std::string> key;  // --solve
};

void run_calibrate(const CalibrateOptions& options) {
  const auto& out = options.tables.out;
  bool quiet = options.tables.quiet;
  if (!options.step.empty()) {
    if (options.tables.machines.size() != 1)
      throw InputError("--step takes one scenario",
                       "write it like: ddpsim calibrate --step 1.234s scenario.yaml --out software.yaml");
    if (options.key)
      return solve_step({preset_path(PresetKind::configs, "FILE", options.tables.machines.front()),
                         options.step, out, *options.key, options.overrides, quiet});
    return calibrate_step({preset_path(PresetKind::configs, "FILE", options.tables.machines.front()),
                           options.step, out, options.share, options.overrides, quiet,
                           options.tables.accept});
  }
  if (!options.overlap.empty())
    return calibrate_overlap({preset_path(PresetKind::configs, "--overlap", options.overlap),
                              options.measured, out, options.overrides, quiet, options.tables.accept,
                              options.all_rows});
  if (!options.overlap_profile.empty())
    return calibrate_profile({options.overlap_profile, options.alone, options.algbw, out, quiet});
  calibrate_tables(options.tables);
}

}  // namespace

Command calibrate_command() {
  auto options = std::make_shared<CalibrateOptions>();
  auto& tables = options->tables;
  const std::vector<std::string> of_tables{
      "--topology",     "FILE",       "--world-size", "--operation",
      "--algorithm",    "--per-call", "--judge",      "--every-other-size",
      "--from-nothing", "--json",     "--plot"};
  auto of_interference = of_tables;
  std::vector<std::string> of_step{"--overlap", "--overlap-profile"};
  for (const auto& option : of_tables)
    if (option != "FILE") of_step.push_back(option);
  of_interference.emplace_back("--overlap");
  return {
      .name = "calibrate",
      .description = "Fit to what you measured: collectives, a step, overlapped steps",
      .example =
          "  ddpsim calibrate measurements/galvatron_8xA100-40GB.csv --topology topologies/dgx-a100.yaml "
          "--out my-a100.yaml",
      .options =
          {{.name = "FILE",
            .value = &tables.machines,
            .description =
                "Tables of one machine: nccl-tests output, CSV or JSON; several joined by commas. Each "
                "further argument is another machine: they are averaged. FILE@2+4 takes a file's tables of 2 "
                "and 4 GPUs, FILE@8/half those of a data type, FILE@8/half/all_gather of an operation"},
           {.name = "--topology",
            .value = &tables.topology,
            .description = "The machine's topology, with a section nccl: a name or a file",
            .names = names_of(PresetKind::topologies)},
           {.name = "--overlap",
            .value = &options->overlap,
            .description = "Fit instead how strongly compute and communication slow one another down, to an "
                           "overlapped iteration of this scenario",
            .type = "SCENARIO",
            .names = names_of(PresetKind::configs),
            .needs = {"--measured"},
            .excludes = of_tables},
           {.name = "--measured",
            .value = &options->measured,
            .description = "Measured iterations (CSV); the one of the scenario's strategy and cap counts",
            .type = "PATH",
            .needs = {"--overlap"}},
           {.name = "--all-rows",
            .value = &options->all_rows,
            .description =
                "Fit to every measured iteration that a point of its sweep predicts, and with them what a "
                "collective's launch costs and how much GPUs differ, as far as they say it",
            .needs = {"--overlap"}},
           {.name = "--set",
            .value = &options->overrides,
            .description = "Override a key of that scenario (repeatable): strategy=overlap",
            .type = "KEY=VALUE",
            .names = names_of_keys,
            .excludes = {"--topology", "--overlap-profile"}},
           {.name = "--step",
            .value = &options->step,
            .description =
                "Fit instead a share of the GPU's peak to one measured step of a scenario with a model, and "
                "say what it tells of the rest; FILE is that scenario, and --out a software file. Or the log "
                "of "
                "Megatron-LM, DeepSpeed, torchtitan, nanoGPT or Hugging Face's Trainer: its median",
            .type = "TIME|LOG",
            .excludes = of_step},
           {.name = "--solve",
            .value = &options->key,
            .description = "Print instead which value of a key of that scenario gives the step: "
                           "cluster.nics.bandwidth",
            .type = "KEY",
            .needs = {"--step"},
            .excludes = {"--fit", "--out", "--accept"}},
           {.name = "--fit",
            .value = &options->share,
            .description =
                "Which: what products reach, the attention kernel, or the host's time to launch a kernel; "
                "else what most of the step's compute is",
            .words = {"gemm", "attention", "host"},
            .needs = {"--step"}},
           {.name = "--overlap-profile",
            .value = &options->overlap_profile,
            .description =
                "The same from a trace of the PyTorch profiler with both: kernels beside collectives "
                "are compared with the same kernels alone",
            .type = "TRACE.json[.gz]",
            .excludes = of_interference},
           {.name = "--alone",
            .value = &options->alone,
            .description = "A trace of the same model without communication, or with none beside compute, to "
                           "compare with as well",
            .type = "TRACE.json[.gz]",
            .needs = {"--overlap-profile"}},
           {.name = "--algbw",
            .value = &options->algbw,
            .description = "What its all-reduces reach when no rank waits (nccl-tests' algbw): their time in "
                           "flight beyond that is waiting, and does not count",
            .type = "BANDWIDTH",
            .needs = {"--overlap-profile"}},
           {.name = "--world-size",
            .value = &tables.world_size,
            .description = "GPUs of tables that do not say; it may repeat what all of them say",
            .range = {{2, kLargestWorldSize}}},
           {.name = "--operation",
            .value = &tables.operation,
            .description = "What was measured, of tables that do not say",
            .words = operation_names()},
           {.name = "--algorithm",
            .value = &tables.algorithm,
            .description = "The algorithm that NCCL was forced to (NCCL_ALGO)",
            .words = {"ring", "tree", "nvls"}},
           {.name = "--per-call",
            .value = &tables.per_call,
            .description =
                "What the harness that wrote the tables adds to every call, and NCCL does not take: "
                "19us of torch.distributed",
            .type = "TIME"},
           {.name = "--judge",
            .value = &tables.judged,
            .description = "Tables to compare with but not to fit to (repeatable; without FILE: with the "
                           "topology's own calibration)",
            .type = "FILE"},
           {.name = "--every-other-size",
            .value = &tables.every_other_size,
            .description = "Fit to every other size of each machine and judge on the rest"},
           {.name = "--from-nothing",
            .value = &tables.from_nothing,
            .description = "Do not start from the topology's calibration: only the tables count"},
           output_option("--out", &tables.out, "Write the calibration; '-' is standard output", "PATH|-"),
           output_option("--json", &tables.json,
                         "Write curves, lines and points as JSON; '-' is standard output", "PATH|-"),
           output_option("--plot", &tables.plot, "Draw measured and predicted bandwidth (.svg)"),
           {.name = "--quiet", .value = &tables.quiet, .description = "No summary and no notes"},
           {.name = "--accept",
            .value = &tables.accept,
            .description = "Take what is refused as implausible: an interference above 1, which no published "
                           "run showed; tables of another GPU than the topology's; a step that nothing of "
                           "what is known gives",
            .excludes = {"--overlap-profile"}}},
      .run = [options] { run_calibrate(*options); }};
}

}  // namespace ddpsim::cli
