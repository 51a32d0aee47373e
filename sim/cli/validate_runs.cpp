// Real runs beside predictions that were made before them.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <set>

#include "validate/comparison/calibration.hpp"
#include "validate/comparison/replay.hpp"
#include "validate/comparison/training.hpp"
#include "validate/harness/job_json.hpp"
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/output_file.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/standard_error.hpp"
#include "sim/base/statistics.hpp"
#include "sim/cli/notes.hpp"
#include "sim/cli/real_runs.hpp"
#include "sim/cli/temporary_folder.hpp"
#include "sim/cli/validate.hpp"
#include "sim/cli/validate_plan.hpp"
#include "sim/result/measured_iterations.hpp"
#include "sim/study/notes.hpp"

namespace ddpsim::cli {
namespace {

using validate::RunResult;
using validate::StepSamples;

// Repetitions of a point that trains before the next point has its turn.
constexpr int kTrainingTurn = 3;

void tell(const ValidateOptions& options, const std::string& what) {
  if (!options.quiet()) print_stderr("{}\n", what);
}

// Where a file of the run is kept: in --out, or for as long as this object lives.
class Record {
 public:
  // After all that the scenario names was read, some of which may be there.
  explicit Record(std::string folder) : folder_(std::move(folder)) {
    if (folder_.empty()) return;
    for (const char* name :
         {"calibration-run.json", "calibration.csv", "training.csv", "prediction.json", "run.json"})
      check_writable((std::filesystem::path(folder_) / name).string(), "--out");
  }
  // The path of the written file.
  std::string keep(const std::string& name, const std::string& text) {
    auto path = folder_.empty() ? temporary_.file(name) : (std::filesystem::path(folder_) / name).string();
    write_whole_file(path, text);
    return path;
  }

 private:
  std::string folder_;
  TemporaryFolder temporary_;
};

std::vector<double> values_of(const std::vector<Seconds>& times) {
  std::vector<double> values;
  for (auto time : times) values.push_back(time.value());
  return values;
}

// What runs must be what was predicted: the order in which gradients arrived here may not be the trace's.
void require_same_buckets(const ReductionPlan& predicted, const ReductionPlan& to_run) {
  auto sizes = [](const ReductionPlan& plan) {
    std::vector<Bytes> bytes;
    for (const auto& bucket : plan.buckets) bytes.push_back(bucket.bytes);
    return bytes;
  };
  if (sizes(predicted) != sizes(to_run))
    throw InputError(
        "gradients arrive here in another order than in the scenario's trace, and so make other buckets",
        "capture a trace with this machine's PyTorch: ddpsim capture");
}

// "all-gathers", "reduce-scatters"
std::vector<std::string> operations_of(const std::vector<Message>& messages) {
  std::set<Operation> operations;
  for (const auto& message : messages) operations.insert(message.operation);
  std::vector<std::string> words;
  for (auto operation : operations) words.push_back(operation_words(operation) + "s");
  return words;
}

MeasuredIteration iteration_of(const StepSamples& samples) {
  auto values = values_of(samples.totals);
  MeasuredIteration measured{{}, {}, {}, Seconds(median(values)), {}};
  if (auto deviation = standard_deviation(values)) measured.spread = Seconds(*deviation);
  return measured;
}

// Adds what only a run knows to the comparison of each point.
void add_samples(validate::ValidationReport& report, const std::vector<validate::Step>& steps,
                 const RunResult& run) {
  for (std::size_t i = 0; i < report.points.size(); ++i) {
    auto& point = report.points[i];
    const auto& samples = run.steps[i];
    point.samples = samples.totals;
    point.settled = samples.settled;
    auto zero = samples.backward_start;
    auto reductions = validate::reductions_of(steps[i], point.predicted.buckets.size());
    for (const auto& bucket : point.predicted.buckets) {
      const auto& times = samples.collectives[reductions[bucket.index]];
      point.buckets.push_back({bucket, {times.launch - zero, times.start - zero, times.end - zero}});
    }
  }
}

// The real side of a comparison, one part after the other.
class Validation {
 public:
  explicit Validation(const ValidateOptions& options)
      : options_(options),
        scenario_(options),
        trains_(settings().compute == RealCompute::model),
        runs_(settings(), scenario_.world_size(), options.one_process, options.quiet()),
        record_(options.out) {}

  // Collectives of other sizes than the scenario's, and, where a model is to be trained, its training without
  // communication. Then the prediction: it is on disk before any point runs. False on ranks other than rank
  // 0.
  bool predict_from_calibration(SweepResult& predicted) {
    auto messages = validate::calibration_messages(scenario_.messages());
    tell(options_, fmt::format("calibrating: {}{}", validate::describe(messages),
                               trains_ ? ", and training without them" : ""));
    validate::Sampling sampling{1, std::min(6, options_.repetitions), std::min(10, options_.repetitions),
                                0.02, Seconds(4)};
    auto steps = validate::calibration_steps(messages, scenario_.world_size(), sampling);
    if (trains_) steps.push_back(validate::training_alone_step(options_.sampling()));
    auto calibration = runs_.run(scenario_.calibration_job(std::move(steps)));
    if (!calibration) return false;
    record_.keep("calibration-run.json", validate::write_run_result(*calibration));
    auto source = fmt::format("ddpsim validate: collectives of their own, medians; {}", runs_.describe());
    auto table = record_.keep(
        "calibration.csv", validate::collective_table(validate::measured_collectives(*calibration, messages),
                                                      scenario_.world_size(), runs_.backend(), source));
    auto plan = scenario_.with_table(table, trains_ ? record_.keep("training.csv", calibration->trace) : "");
    for (std::size_t i = 0; i < plan.scenarios.size(); ++i)
      require_same_buckets(plan.scenarios[i].plan, points().scenarios[i].plan);
    predicted = predict(plan, options_.scenario.file, options_.quiet());
    record_.keep(
        "prediction.json",
        sweep_json(predicted, {options_.scenario.file, options_.scenario.overrides, plan.axes}, tool_info()));
    return true;
  }

  std::optional<RunResult> run_points() {
    // Each turn of a step that trains costs its warm-up, and rebuilds its buckets.
    auto sampling = options_.sampling();
    sampling.turn = trains_ ? kTrainingTurn : 1;
    for (std::size_t i = 0; i < points().scenarios.size(); ++i)
      steps_.push_back((trains_ ? validate::training_step : validate::replay_step)(
          points().scenarios[i], scenario_.name_of(i), sampling));
    tell(options_, fmt::format("running {} point{} for real: {}", steps_.size(),
                               steps_.size() == 1 ? "" : "s", runs_.describe()));
    auto run = runs_.run(scenario_.job(steps_));
    if (run) record_.keep("run.json", validate::write_run_result(*run));
    return run;
  }

  validate::ValidationReport compare(SweepResult& predicted, const RunResult& run) const {
    for (std::size_t i = 0; i < predicted.points.size(); ++i) {
      auto& point = predicted.points[i];
      point.measured = iteration_of(run.steps[i]);
      predicted.measured.push_back(*point.measured);
      predicted.measured.back().bucket_cap = point.metrics.bucket_cap;
      predicted.measured.back().strategy = point.metrics.strategy->name();
    }
    auto report = validate::compare(predicted, {settings().iteration_error, settings().regret});
    add_samples(report, steps_, run);
    auto operations = operations_of(scenario_.messages());
    report.prediction =
        fmt::format("{} of other sizes, alone and queued{}, measured before", fmt::join(operations, " and "),
                    trains_ ? ", and training without communication" : "");
    bool stands_in =
        runs_.backend() == Backend::gloo && std::ranges::find(operations, "all-gathers") != operations.end();
    report.measurement = fmt::format(
        "{}, {}{}", runs_.describe(), trains_ ? "the model trained" : "compute replayed",
        stands_in ? "; all-gathers and reduce-scatters are rings of Gloo's sends and receives" : "");
    report.environment = run.environment;
    auto sampling = options_.sampling();
    report.environment.emplace_back(
        "repetitions",
        fmt::format("{} to {} in rounds over the points, to {} % of the median, {}", sampling.least,
                    sampling.most, 100 * sampling.precision, format_seconds(sampling.budget)));
    return report;
  }

 private:
  [[nodiscard]] const ValidationSettings& settings() const { return scenario_.first().validation; }
  [[nodiscard]] const SweepPlan& points() const { return scenario_.points(); }

  const ValidateOptions& options_;
  RealScenario scenario_;
  bool trains_;
  RealRuns runs_;
  Record record_;
  std::vector<validate::Step> steps_;  // of the points
};

// A row that does not name its cap would otherwise be compared with predictions for all of them.
void refuse_rows_without_cap(const std::string& path, const std::vector<SweepPoint>& points) {
  std::vector<Bytes> caps;
  for (const auto& point : points)
    if (point.measured && !point.measured->bucket_cap && point.metrics.strategy->traits.is_ddp &&
        point.metrics.bucket_cap)
      caps.push_back(*point.metrics.bucket_cap);
  std::sort(caps.begin(), caps.end());
  if (std::unique(caps.begin(), caps.end()) - caps.begin() > 1)
    throw InputError(
        fmt::format("{}: a row that does not say its bucket cap stands for {} points that differ in it", path,
                    caps.size()),
        "add the column bucket_cap_bytes");
}

}  // namespace

validate::ValidationReport compare_with_file(const ValidateOptions& options, SweepResult& predicted) {
  auto root = options.load();
  auto axes = config::take_sweep_axes(root);
  Files files(options.scenario.file);
  auto plan = expanded(plan_grid(root, axes, files));
  const auto& validation = plan.scenarios.front().validation;
  auto measured = read_measured_iterations(*validation.measured);
  predicted = predict(plan, options.scenario.file, options.quiet());
  predicted.measured = measured;
  std::vector<IterationMetrics> metrics;
  for (auto& point : predicted.points) {
    point.measured = matching(measured, point.metrics);
    metrics.push_back(point.metrics);
  }
  refuse_rows_without_cap(*validation.measured, predicted.points);
  if (!options.quiet()) print_notes(unmatched_notes(measured, metrics));
  auto report = validate::compare(predicted, {validation.iteration_error, validation.regret});
  report.prediction = "the scenario as it is";
  report.measurement = options.measured.empty() ? *validation.measured : options.measured;
  return report;
}

std::optional<validate::ValidationReport> compare_with_runs(const ValidateOptions& options,
                                                            SweepResult& predicted) {
  Validation validation(options);
  bool reports = validation.predict_from_calibration(predicted);
  auto run = validation.run_points();
  if (!reports || !run) return std::nullopt;
  return validation.compare(predicted, *run);
}

}  // namespace ddpsim::cli
