#include "sim/study/next_measurement.hpp"

#include <algorithm>
#include <optional>
#include <ostream>

#include <fmt/format.h>

#include "sim/base/source.hpp"
#include "sim/evidence/conditioning.hpp"
#include "sim/study/uncertainty.hpp"

namespace ddpsim {
namespace {

// The job's draws, and those of what could be measured: all together, before any is picked.
class Measuring {
 public:
  Measuring(const Scenario& scenario, const IterationMetrics& metrics) : evidence_(*scenario.evidence) {
    if (auto response = response_of(scenario)) {
      job_ = draws(*response);
      overlaps_ = moves(*response, *find_evidence_class(Subject::physics, "interference"));
    }
    auto compute =
        std::ranges::find(scenario.doubts, Subject::compute, [](const Doubt& one) { return one.of->of; });
    if (compute != scenario.doubts.end()) row_ = evidence_.calibrated_row(*compute->of);
    if (!is_possible()) return;
    with_row_ = rows_of(job_);
    found_.now = metrics.uncertainty->likely().width();
    without_ = interval_of(with_row_, kLikely).width();
  }

  [[nodiscard]] bool is_possible() const { return !job_.empty() && row_ > 0; }
  // Whether the job takes longer with more interference.
  [[nodiscard]] bool overlaps() const { return overlaps_; }

  void add_step(std::string what, std::string command, const Scenario& of) {
    if (auto response = response_of(of)) add(std::move(what), std::move(command), draws(*response), row_);
  }

  // Of collectives of a class, whose factor it tells.
  void add_table(std::string what, std::string command, const EvidenceClass& of) {
    const auto* line = evidence_.find(of);
    const auto* table = evidence_.find(*find_evidence_class(Subject::network, "table"));
    if (!line || !table) return;
    std::vector<Seconds> times;
    for (double value : values_of(unknown_of(of, *line), kDrawsToWeigh)) times.emplace_back(value);
    add(std::move(what), std::move(command), picked(std::move(times)), table->sigma());
  }

  [[nodiscard]] Narrowing found() {
    std::ranges::stable_sort(found_.all, {}, &NextMeasurement::width);
    return std::move(found_);
  }

 private:
  static bool moves(const Response& response, const EvidenceClass& of) {
    auto curve = response.curves.find(name_of(of));
    return curve != response.curves.end() &&
           std::ranges::any_of(curve->second.points,
                               [&](const auto& point) { return point.time != response.base; });
  }

  [[nodiscard]] std::vector<Seconds> draws(const Response& response) const {
    return picked(draws_of(response, evidence_, kDrawsToWeigh));
  }

  // Those that earlier measurements leave.
  [[nodiscard]] std::vector<Seconds> picked(std::vector<Seconds> all) const {
    if (evidence_.picked.empty()) return all;
    std::vector<Seconds> left;
    for (auto draw : evidence_.picked) left.push_back(all[draw]);
    return left;
  }

  // With what a step has of its own.
  [[nodiscard]] std::vector<Seconds> rows_of(std::vector<Seconds> times) const {
    Unknown row{.name = "row", .states = {{1, 0, row_}}, .is_heavy = true};
    const auto& values = values_of(row, times.size());
    for (std::size_t i = 0; i < times.size(); ++i) times[i] = values[i] * times[i];
    return times;
  }

  void add(std::string what, std::string command, std::vector<Seconds> times, double row) {
    double width = width_after(with_row_, {what, times, row}, kLikely);
    if (width >= without_) return;
    found_.all.push_back({std::move(what), std::move(command), width});
  }

  const Evidence& evidence_;
  bool overlaps_ = false;
  double row_ = 0, without_ = 0;  // width of the job's interval, so drawn, without a measurement
  std::vector<Seconds> job_, with_row_;
  Narrowing found_;
};

std::optional<int> gpus_of_node(const Scenario& scenario) {
  if (!scenario.communication) return std::nullopt;
  const auto& cluster = *scenario.communication->cluster;
  int gpus = 0;
  while (gpus < scenario.world_size && cluster.node_of(gpus) == cluster.node_of(0)) ++gpus;
  return gpus < scenario.world_size ? std::optional(gpus) : std::nullopt;
}

}  // namespace

Narrowing narrowing_of(const std::string& job, WhatIf& what_if, const Scenario& scenario,
                       const IterationMetrics& metrics) {
  if (!metrics.uncertainty) return {};
  Measuring measuring(scenario, metrics);
  if (!measuring.is_possible()) return {};
  // What a trace has is compute alone, and steps tell what slows it down.
  auto calibrate = scenario.is_timed_by_law()
                       ? fmt::format("ddpsim calibrate --step TIME {}", job)
                       : fmt::format("ddpsim calibrate --overlap {} --measured STEPS", job);
  bool takes_steps = scenario.is_timed_by_law() || measuring.overlaps();
  if (takes_steps) measuring.add_step("one step of this job", calibrate + " --out mine.yaml", scenario);
  if (auto gpus = takes_steps ? gpus_of_node(scenario) : std::nullopt) {
    auto world = fmt::format("cluster.world_size={}", *gpus);
    try {
      auto node = what_if.scenario({"", {world}});
      measuring.add_step(fmt::format("one step on one node ({} GPUs)", *gpus),
                         fmt::format("{} --set {} --out mine.yaml", calibrate, world), node);
    } catch (const InputError&) {
      // Nothing of it runs on one node.
    }
  }
  for (const auto& doubt : scenario.doubts)
    if (doubt.of->moves == Moves::collectives && doubt.of->name != "table" && !doubt.axes.empty())
      measuring.add_table(fmt::format("a table of nccl-tests over {}", doubt.of->what),
                          "ddpsim calibrate TABLE --topology TOPOLOGY --out calibration.yaml", *doubt.of);
  return measuring.found();
}

Cell print_narrowing(std::ostream& out, const Narrowing& narrowing) {
  const auto& [now, all] = narrowing;
  if (!all.empty()) {
    out << fmt::format("\nwhat to measure next (the 80 % interval is {:.0f} % wide)\n", 100 * now);
    for (const auto& one : all) out << fmt::format("  {:>3.0f} %  {}\n", 100 * one.width, one.what);
    out << fmt::format("  the first: {}\n", all.front().command);
  }
  const Columns<NextMeasurement> columns{{"measure", &NextMeasurement::what},
                                         {"command", &NextMeasurement::command},
                                         {"width", &NextMeasurement::width}};
  return fields_of_each(columns, all);
}

}  // namespace ddpsim
