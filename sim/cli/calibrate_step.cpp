#include "sim/cli/calibrate_step.hpp"

#include <cctype>
#include <cmath>
#include <filesystem>
#include <iostream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/output_file.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/standard_error.hpp"
#include "sim/calibrate/step_log.hpp"
#include "sim/cli/notes.hpp"
#include "sim/cli/scenario_options.hpp"
#include "sim/resolve/resolve.hpp"
#include "sim/resolve/unused_axes.hpp"
#include "sim/study/solve.hpp"
#include "sim/study/step_fit.hpp"
#include "sim/text/software_file.hpp"

namespace ddpsim::cli {
namespace {

constexpr std::size_t kMostOfTrainingLog = std::size_t{256} << 20;

std::optional<FittedShare> share_of(const std::string& word) {
  for (const auto& [name, share] : kFittedShareNames)
    if (name == word) return share;
  return std::nullopt;
}

config::Value read_scenario(const StepOptions& options) {
  ScenarioOptions file;
  file.file = options.scenario;
  file.overrides = options.overrides;
  auto root = file.load();
  take_unused_axes(root);
  return root;
}

// "llama-2-7b on 64 GPUs, micro batch 4, sequence 4096"
std::string phrase_of(const Scenario& scenario) {
  if (scenario.recorded)
    return fmt::format("{}, recorded, on {} GPUs", fmt::join(scenario.recorded->first().script, " "),
                       scenario.world_size);
  const auto& [model, step, software, gpu, state, work] = *scenario.model_step;
  return fmt::format("{} on {} GPUs, micro batch {}, sequence {}", model.name, scenario.world_size,
                     step.shape.micro_batch, step.shape.sequence);
}

calibrate::LoggedJob job_of(const Scenario& scenario) {
  calibrate::LoggedJob job{.world_size = scenario.world_size};
  if (scenario.model_step) {
    const auto& shape = scenario.model_step->step.shape;
    job.batch = static_cast<double>(shape.micro_batch);
    job.sequence = static_cast<double>(shape.sequence);
  } else if (scenario.trace) {
    job.batch = static_cast<double>(scenario.trace->metadata.batch_size.value_or(0));
    job.sequence = static_cast<double>(scenario.trace->metadata.sequence_length.value_or(0));
  }
  job.tensor = scenario.parallel ? scenario.parallel->options.degrees.tensor : 1;
  job.pipeline = scenario.parallel ? scenario.parallel->options.degrees.pipeline : 1;
  if (scenario.parallel)
    job.batch *= scenario.parallel->options.degrees.data * scenario.parallel->options.shape.micro_batches;
  else
    job.batch *= scenario.world_size * scenario.plan.accumulation_steps;
  return job;
}

struct MeasuredStep {
  Seconds time;
  std::string source;  // a phrase: where it is from; empty: --step says it
};

// What the scenario took: a time, or the log of a training program.
MeasuredStep measured_step(const StepOptions& options, const Scenario& scenario) {
  std::error_code no_such_file;
  bool is_number =
      !options.step.empty() && (std::isdigit(options.step.front()) != 0 || options.step.front() == '.' ||
                                options.step.front() == '-' || options.step.front() == '+');
  if (is_number && !std::filesystem::is_regular_file(options.step, no_such_file)) {
    auto measured = parse_seconds({options.step, whole_file(make_source("--step", options.step))});
    if (measured <= Seconds())
      throw InputError("--step: no step takes 0 s", "write what one took: --step 1.2s");
    return {measured, ""};
  }
  if (!is_number && !std::filesystem::exists(options.step, no_such_file))
    throw InputError(fmt::format("--step: '{}' is neither a time nor a file", options.step),
                     "write what one step took, 1.2s, or name a training log");
  auto log = calibrate::read_step_log(load_text(options.step, "a training log", kMostOfTrainingLog),
                                      job_of(scenario), options.accept);
  if (!options.quiet) {
    print_stderr("{}: {}\n", options.step, log.summary());
    for (const auto& note : log.notes) print_stderr("note: {}\n", note);
  }
  return {log.step, fmt::format("the median of {} lines of {}", log.counted, options.step)};
}

std::string_view name_of(const std::optional<FittedShare>& share) {
  return share ? name_in(kFittedShareNames, *share) : "compute";
}

std::string value_of(const Software& software, std::optional<FittedShare> share, Precision precision) {
  if (share == FittedShare::host) return format_seconds(software.host);
  return fmt::format(
      "{:.4f}", share == FittedShare::attention ? software.attention : products_share(software, precision));
}

// What its GPU is called in the file: like the shares that it had, if they are of such a GPU.
std::string gpu_word(const Software& software, const GpuDescription& gpu) {
  return software.is_for_gpu && !software.fitted_on.empty() ? software.fitted_on : gpu.name;
}

void print_fit(const StepFit& fit, const Software& before, Precision precision, Seconds measured) {
  print_stderr("{} {} (software {} says {})\n", name_of(fit.share),
               value_of(fit.software, fit.share, precision), before.name,
               value_of(before, fit.share, precision));
  constexpr double kExact = 0.01;
  if (double off = fit.predicted / measured - 1; std::abs(off) > kExact)
    print_stderr("note: the scenario takes {} with it, {:+.0f} % from what was measured\n",
                 format_seconds(fit.predicted), 100 * off);
  for (const auto& [name, factor] : fit.measured.found)
    print_stderr("{}: {:.2g} times as long as described\n", find_evidence_class(name)->what, factor);
  double products = products_share(fit.software, precision);
  if (fit.share == FittedShare::gemm && (products < kShippedGemm.least || products > kShippedGemm.most))
    print_stderr(
        "note: machines and frameworks that were measured reach {} to {} of the peak in products: is it "
        "the time of this very step, and is nothing else in it (data loading, checkpoints, other jobs)?\n",
        kShippedGemm.least, kShippedGemm.most);
}

}  // namespace

void solve_step(const StepOptions& options) {
  auto root = read_scenario(options);
  Files files(options.scenario);
  auto scenario = resolve(files, root);
  auto measured = measured_step(options, scenario).time;
  if (!options.quiet) print_notes(scenario.notes);
  auto solved = solve(files, root, options.share, measured);
  constexpr double kNear = 0.005;
  std::cout << fmt::format("{} {} gives {}\n", options.share, solved.value, format_seconds(solved.takes));
  if (std::abs(solved.takes / measured - 1) > kNear)
    std::cout << fmt::format("it jumps there, and no value gives {}\n", format_seconds(measured));
  if (!solved.least.empty()) std::cout << fmt::format("80 % sure: {} to {}\n", solved.least, solved.most);
  if (solved.others > 0)
    std::cout << fmt::format("{} other value{} in the range also give{} it\n", solved.others,
                             solved.others == 1 ? "" : "s", solved.others == 1 ? "s" : "");
}

void calibrate_step(const StepOptions& options) {
  check_outputs({{"--out", options.out}});
  auto scenario = resolve(Files(options.scenario), read_scenario(options));
  if (!scenario.is_timed_by_law())
    throw InputError(
        fmt::format("{}: only a transformer's step, or a recorded script's, calibrates a software",
                    options.scenario),
        "name one: workload.model: llama-2-7b; a recorded trace has its times already");
  auto [measured, source] = measured_step(options, scenario);
  const auto& before = scenario.software();
  auto precision = scenario.precision();
  auto job = fmt::format("{}: {}", options.scenario, phrase_of(scenario));
  auto fit = fit_step(scenario, {measured, job, share_of(options.share), options.accept});
  auto& fitted = fit.software;
  if (!before.name.ends_with(kCalibrated)) fitted.name = before.name + std::string(kCalibrated);
  auto comment =
      fmt::format("{} from one step of {}{}: {}; {} before.\nThe rest as in {}.", name_of(fit.share),
                  format_seconds(measured), source.empty() ? "" : ", " + source, job,
                  value_of(before, fit.share, precision), before.name);
  if (!options.quiet) {
    print_notes(scenario.notes);
    print_fit(fit, before, precision, measured);
  }
  OutputPhase writing;
  write_output(options.out, [&] {
    return write_software(fitted, gpu_word(before, scenario.gpu_of_law()), comment, fit.measured);
  });
}

}  // namespace ddpsim::cli
