#include "sim/cli/calibrate_step.hpp"

#include <fmt/core.h>

#include "sim/base/output_file.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/standard_error.hpp"
#include "sim/cli/notes.hpp"
#include "sim/cli/scenario_options.hpp"
#include "sim/resolve/resolve.hpp"
#include "sim/resolve/unused_axes.hpp"
#include "sim/study/step_fit.hpp"
#include "sim/text/software_file.hpp"

namespace ddpsim::cli {
namespace {

FittedShare share_of(const std::string& word) {
  for (const auto& [name, share] : kFittedShareNames)
    if (name == word) return share;
  return FittedShare::gemm;  // the command line takes these words only
}

std::string value_of(const Software& software, FittedShare share, Precision precision) {
  if (share == FittedShare::host) return format_seconds(software.host);
  return fmt::format("{:.4f}",
                     share == FittedShare::gemm ? products_share(software, precision) : software.attention);
}

}  // namespace

void calibrate_step(const StepOptions& options) {
  check_outputs({{"--out", options.out}});
  auto measured = parse_seconds({options.step, whole_file(make_source("--step", options.step))});
  ScenarioOptions file;
  file.file = options.scenario;
  file.overrides = options.overrides;
  auto root = file.load();
  take_unused_axes(root);
  auto scenario = resolve(Files(options.scenario), root);
  if (!scenario.model_step)
    throw InputError(fmt::format("{}: only a transformer's step calibrates a software", options.scenario),
                     "name one: workload.model: llama-2-7b; a recorded trace has its times already");
  const auto& before = scenario.model_step->software;
  auto share = share_of(options.share);
  auto precision = scenario.model_step->step.precision;
  auto fitted = fit_step(scenario, measured, share);
  if (!before.name.ends_with(kCalibrated)) fitted.name = before.name + std::string(kCalibrated);
  auto comment = fmt::format(
      "{} from one step of {}: {} of {}, {} GPUs, micro batch {}, sequence {}; {} before.\nThe rest as in "
      "{}.",
      options.share, format_seconds(measured), options.scenario, scenario.model_step->model.name,
      scenario.world_size, scenario.model_step->step.shape.micro_batch,
      scenario.model_step->step.shape.sequence, value_of(before, share, precision), before.name);
  if (!options.quiet) {
    print_notes(scenario.notes);
    print_stderr("{} {} (software {} says {})\n", options.share, value_of(fitted, share, precision),
                 before.name, value_of(before, share, precision));
    double products = products_share(fitted, precision);
    if (share == FittedShare::gemm && (products < kShippedGemm.least || products > kShippedGemm.most))
      print_stderr(
          "note: machines and frameworks that were measured reach {} to {} of the peak in products: is it "
          "the time of this very step, and is nothing else in it (data loading, checkpoints, other jobs)?\n",
          kShippedGemm.least, kShippedGemm.most);
  }
  OutputPhase writing;
  write_output(options.out, [&] { return write_software(fitted, scenario.model_step->gpu.name, comment); });
}

}  // namespace ddpsim::cli
