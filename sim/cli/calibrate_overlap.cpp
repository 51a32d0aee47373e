#include "sim/cli/calibrate_overlap.hpp"

#include <iostream>

#include <fmt/core.h>

#include "sim/base/output_file.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/standard_error.hpp"
#include "sim/calibrate/interference_fit.hpp"
#include "sim/cli/scenario_options.hpp"
#include "sim/resolve/resolve.hpp"
#include "sim/resolve/unused_axes.hpp"
#include "sim/result/measured_iterations.hpp"
#include "sim/study/overlapped_steps.hpp"
#include "sim/study/run_all.hpp"
#include "sim/text/physics_calibration.hpp"

namespace ddpsim::cli {
namespace {

using calibrate::OverlappedIteration;

OverlappedIteration predict(Scenario scenario, double s, double r) {
  scenario.physics.interference = {s, r};
  scenario.physics.range.reset();  // which they are known by from here on
  OverlappedIteration predicted;
  run_all({&scenario, 1}, 1, [&](std::size_t, const Prediction& prediction) {
    auto metrics = metrics_of(scenario, prediction);
    predicted = {metrics.iteration, metrics.tail, metrics.communication};
  });
  return predicted;
}

MeasuredIteration row_of(const Scenario& scenario, const IterationMetrics& plain, const std::string& path) {
  auto row = matching(read_measured_iterations(path), plain);
  if (!row)
    throw InputError(
        fmt::format("{} has no iteration of strategy {}{}", path, plain.strategy->name(),
                    plain.bucket_cap ? fmt::format(" with caps of {:.0f} bytes", plain.bucket_cap->value())
                                     : std::string()),
        "say with --set which of its rows to fit to: --set strategy=overlap, --set ddp.bucket_cap=25MiB");
  refuse_mixed_sets(scenario, *row, path);
  return *row;
}

// Why s and r are the same, if they are.
std::string same_because(const calibrate::InterferenceFit& fit, const MeasuredIteration& row) {
  if (fit.separate) return "";
  if (fit.closest)
    return fmt::format(" (taken to be the same: no others give the measured {}, the closest {})",
                       row.communication ? "time in flight" : "tail", format_seconds(*fit.closest));
  return " (taken to be the same: without a tail or a time in flight one time cannot tell them apart)";
}

}  // namespace

void refuse_mixed_sets(const Scenario& scenario, const MeasuredIteration& row, const std::string& path) {
  if (!scenario.measured_table || !row.run_set || !scenario.measured_table->run_set) return;
  if (*row.run_set != *scenario.measured_table->run_set)
    throw InputError(fmt::format("{}: the iteration is of the run set '{}', and the all-reduces are of '{}'",
                                 path, *row.run_set, *scenario.measured_table->run_set),
                     "measure both together; or, if they were, give their headers the same run_set");
}

// Published runs showed 0.1 to 0.65 (gpus/); a kernel that takes more than twice as long says that the
// difference has another cause.
void refuse_absurd(double compute, double collective) {
  constexpr double kMost = 1;
  if (compute <= kMost && collective <= kMost) return;
  throw InputError(
      fmt::format("interference would have to be {:.2g} (compute) and {:.2g} (collectives), and published "
                  "runs show 0.1 to 0.65",
                  compute, collective),
      "the measured iteration is longer for another reason: ranks that differ (variability), all-reduces of "
      "another run set, an input pipeline, copies (physics.pass_bandwidth)? --accept takes it all the same");
}

void calibrate_overlap(const OverlapOptions& options) {
  if (options.all_rows) return calibrate_overlap_rows(options);
  check_outputs({{"--out", options.out}});
  ScenarioOptions file;
  file.file = options.scenario;
  file.overrides = options.overrides;
  auto root = file.load();
  take_unused_axes(root);
  auto scenario = resolve(Files(options.scenario), root);
  IterationMetrics plain;
  scenario.physics.interference = {};
  run_all({&scenario, 1}, 1,
          [&](std::size_t, const Prediction& prediction) { plain = metrics_of(scenario, prediction); });
  auto row = row_of(scenario, plain, options.measured);
  for (const auto& one : read_measured_iterations(options.measured))
    if (one.world_size == 1 && !options.quiet)
      print_stderr("note: the step on one GPU counts with --all-rows only\n");
  auto fit = calibrate::fit_interference({row.iteration, row.tail, row.communication},
                                         [&](double s, double r) { return predict(scenario, s, r); });
  if (!options.accept) refuse_absurd(fit.compute, fit.collective);
  auto what =
      fmt::format("{}, strategy {}{}: {} s{}", options.measured, plain.strategy->name(),
                  plain.bucket_cap ? fmt::format(", caps of {:.0f} bytes", plain.bucket_cap->value()) : "",
                  row.iteration.value(), row.tail ? fmt::format(", tail {} s", row.tail->value()) : "");
  if (row.communication) what += fmt::format(", in flight {} s", row.communication->value());
  if (plain.trace_synthetic) what += "; trace " + *plain.trace_synthetic;
  if (!options.quiet && options.out != "-") {
    fmt::print("beside collectives compute takes {:.1f} % longer, collectives beside compute {:.1f} %{}\n",
               100 * fit.compute, 100 * fit.collective, same_because(fit, row));
    fmt::print("iteration {}, measured {}; without interference {}\n",
               format_seconds(fit.predicted.iteration), format_seconds(row.iteration),
               format_seconds(plain.iteration));
    fmt::print("tail {}{}\n", format_seconds(*fit.predicted.tail),
               row.tail ? fmt::format(", measured {}", format_seconds(*row.tail)) : "");
    if (row.communication)
      fmt::print("in flight {}, measured {}\n", format_seconds(*fit.predicted.communication),
                 format_seconds(*row.communication));
    if (plain.trace_synthetic) fmt::print("trace {}\n", *plain.trace_synthetic);
  }
  PhysicsCalibration calibration{{fit.compute, fit.collective}, row.run_set};
  scenario.physics.interference = calibration.interference;
  auto measured = evidence_of({{what, scenario, row.iteration}}, 0, options.accept);
  OutputPhase writing;
  write_output(options.out, write_physics_calibration(calibration, what, measured));
}

}  // namespace ddpsim::cli
