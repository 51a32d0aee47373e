#include "sim/cli/notes.hpp"

#include <algorithm>
#include <cctype>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/quantity.hpp"
#include "sim/base/standard_error.hpp"
#include "sim/report/measured_iterations.hpp"

namespace ddpsim::cli {
namespace {

void report_repairs(const MeasuredCost& cost) {
  auto repaired = cost.repaired_points();
  if (repaired.empty()) return;
  std::vector<std::string> changes;
  for (const auto& point : repaired)
    changes.push_back(fmt::format("{} {} -> {}", format_bytes(point.bytes), format_seconds(point.measured),
                                  format_seconds(point.time)));
  print_stderr(
      "note: {} of {} measured all-reduce times fall with size; they were pooled so that none does: {}\n",
      repaired.size(), cost.points().size(), fmt::join(changes, ", "));
}

// Messages that a table says nothing about: their times are extrapolated (docs/model.md).
struct Outside {
  std::size_t below = 0, beyond = 0, all = 0;

  void count(Bytes bytes, const MeasuredCost& cost) {
    ++all;
    below += bytes < cost.points().front().bytes;
    beyond += bytes > cost.points().back().bytes;
  }
  void report(const MeasuredCost& cost) const {
    if (below + beyond == 0) return;
    print_stderr(
        "note: of {} all-reduces {} are smaller and {} larger than all of the table's messages ({} to "
        "{}): extrapolated\n",
        all, below, beyond, format_bytes(cost.points().front().bytes),
        format_bytes(cost.points().back().bytes));
  }
};

}  // namespace

namespace {

// Flows one by one: every edge of a ring in every step.
double flows_of_exact(const Scenario& scenario) {
  double ranks = scenario.world_size;
  return 2 * (ranks - 1) * ranks * static_cast<double>(scenario.plan.buckets.size());
}

// Flows of the folded plan, all rounds of them.
double flows_of_folded(const Scenario& scenario) {
  double flows = 0;
  for (const auto& group : scenario.communication->folded->groups)
    for (const auto& stage : group.plan.stages)
      for (const auto& unit : stage.units)
        for (const auto& channel : unit.channels)
          for (const auto& bucket : scenario.plan.buckets)
            flows += static_cast<double>(channel.flows.size()) * channel.rounds(bucket.bytes);
  return flows;
}

}  // namespace

void warn_if_slow(std::span<const ScenarioVariant> variants) {
  constexpr double kManyFlows = 1e7;
  double exact = 0, folded = 0;
  for (const auto& variant : variants) {
    const auto& base = *variant.base;
    if (base.fidelity == Fidelity::exact) exact += flows_of_exact(variant.scenario());
    bool in_rounds = base.fidelity == Fidelity::folded ||
                     (base.fidelity == Fidelity::lazy && base.communication->folded->is_contended());
    if (in_rounds) folded += flows_of_folded(variant.scenario());
  }
  if (exact > kManyFlows)
    print_stderr(
        "note: fidelity exact simulates {:.0f} million flows one by one; lazy gives the same much sooner\n",
        exact / 1e6);
  if (folded > kManyFlows)
    print_stderr(
        "note: up to {:.0f} million flows have to be simulated where several share links; random "
        "placements, trees and many groups that are not in step fold badly\n",
        folded / 1e6);
}

void report_observed(std::span<const Scenario> scenarios) {
  for (const auto& scenario : scenarios) {
    if (!scenario.sampled || !scenario.sampled->variability.jitter) continue;
    const auto* observed = std::get_if<Observed>(&*scenario.sampled->variability.jitter);
    double ranks = scenario.world_size;
    if (!observed || ranks < static_cast<double>(observed->factors.size())) continue;
    print_stderr(
        "note: {} ranks draw from {} observed times, so that nearly every iteration has the slowest of "
        "them; how slow rarer ones are, nobody observed\n",
        scenario.world_size, observed->factors.size());
    return;
  }
}

namespace {

// "H100" of "NVIDIA H100 SXM5 80GB": the first word with a digit.
std::string model_word(const std::string& gpu) {
  std::istringstream words(gpu);
  for (std::string word; words >> word;)
    if (std::any_of(word.begin(), word.end(), [](unsigned char c) { return std::isdigit(c); })) return word;
  return gpu;
}

}  // namespace

void report_other_gpu(std::span<const Scenario> scenarios) {
  for (const auto& scenario : scenarios) {
    const auto& device = scenario.trace->metadata.device;
    if (!scenario.gpu || !device || device->find(model_word(*scenario.gpu)) != std::string::npos) continue;
    print_stderr(
        "note: compute times are those of the trace's device, {}; of the cluster's GPU, {}, only how "
        "compute and communication slow one another down and what copies cost (workload.rescale "
        "estimates the times)\n",
        *device, *scenario.gpu);
    return;
  }
}

void report_plain_rings(std::span<const Scenario> scenarios) {
  if (std::any_of(scenarios.begin(), scenarios.end(),
                  [](const auto& scenario) { return scenario.lacks_nccl; }))
    print_stderr("note: the topology has no section 'nccl': algorithm auto is plain rings there\n");
}

void report_table_use(std::span<const ScenarioVariant> variants) {
  std::vector<std::pair<const MeasuredCost*, Outside>> tables;  // in order of appearance
  for (const auto& variant : variants) {
    const auto& measured = variant.base->measured_table;
    if (!measured) continue;
    const auto* cost = &measured->cost;
    auto table =
        std::find_if(tables.begin(), tables.end(), [&](const auto& known) { return known.first == cost; });
    if (table == tables.end()) {
      report_repairs(*cost);
      if (const auto& queued = measured->queued) report_repairs(*queued);
      table = tables.insert(table, {cost, {}});
    }
    for (const auto& bucket : variant.scenario().plan.buckets) table->second.count(bucket.bytes, *cost);
  }
  for (const auto& [cost, outside] : tables) outside.report(*cost);
}

void report_unmatched(const std::vector<MeasuredIteration>& measured,
                      std::span<const IterationMetrics> predictions) {
  auto unmatched = std::count_if(measured.begin(), measured.end(), [&](const MeasuredIteration& row) {
    return std::none_of(predictions.begin(), predictions.end(), [&](const IterationMetrics& prediction) {
      return matching({row}, prediction).has_value();
    });
  });
  if (unmatched > 0)
    print_stderr(
        "note: {} of {} measured iterations belong to no prediction here (a bucket cap must agree to "
        "the byte)\n",
        unmatched, measured.size());
}

}  // namespace ddpsim::cli
