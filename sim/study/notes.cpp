#include "sim/study/notes.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/quantity.hpp"
#include "sim/engine/messages.hpp"
#include "sim/gpu/plausible_compute.hpp"
#include "sim/result/measured_iterations.hpp"

namespace ddpsim {
namespace {

void add_repairs(Operation operation, const MeasuredCost& cost, std::vector<Note>& notes) {
  auto repaired = cost.repaired_points();
  if (repaired.empty()) return;
  std::vector<std::string> changes;
  for (const auto& point : repaired)
    changes.push_back(fmt::format("{} {} -> {}", format_bytes(point.bytes), format_seconds(point.measured),
                                  format_seconds(point.time)));
  notes.push_back(
      {"table-pooled",
       fmt::format("{} of {} measured {} times fall with size; they were pooled so that none does: {}",
                   repaired.size(), cost.points().size(), operation_words(operation),
                   fmt::join(changes, ", "))});
}

// Messages that a table says nothing about: their times are extrapolated (docs/model.md).
struct Outside {
  std::size_t below = 0, beyond = 0, far = 0, all = 0;
  bool with_broadcasts = false;

  void count(Bytes bytes, const MeasuredCost& cost) {
    ++all;
    below += bytes < cost.points().front().bytes;
    beyond += bytes > cost.points().back().bytes;
    far += bytes > 2 * cost.points().back().bytes || 2 * bytes < cost.points().front().bytes;
  }
  void add(Operation operation, const MeasuredCost& cost, std::vector<Note>& notes) const {
    if (below + beyond == 0) return;
    auto far_out =
        far == 0 ? std::string()
                 : fmt::format(", {} of them by more than a factor of two: what they take is a guess", far);
    notes.push_back({far == 0 ? "table-extrapolated" : "table-far-extrapolated",
                     fmt::format("of {} {} {} are smaller and {} larger than all of the table's "
                                 "messages ({} to {}): extrapolated{}",
                                 all, with_broadcasts ? "collectives" : operation_words(operation) + "s",
                                 below, beyond, format_bytes(cost.points().front().bytes),
                                 format_bytes(cost.points().back().bytes), far_out)});
  }
};

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
          for (auto bytes : all_reduces_of(scenario.plan))
            flows += static_cast<double>(channel.flows.size()) * channel.rounds(bytes);
  return flows;
}

void add_slow(std::span<const ScenarioVariant> variants, std::vector<Note>& notes) {
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
    notes.push_back(
        {"slow-exact",
         fmt::format(
             "fidelity exact simulates {:.0f} million flows one by one; lazy gives the same much sooner",
             exact / 1e6)});
  if (folded > kManyFlows)
    notes.push_back({"slow-contended",
                     fmt::format("up to {:.0f} million flows have to be simulated where several share links; "
                                 "random placements, trees and many groups that are not in step fold badly",
                                 folded / 1e6)});
}

void add_observed(std::span<const Scenario> scenarios, std::vector<Note>& notes) {
  for (const auto& scenario : scenarios) {
    if (!scenario.sampled || !scenario.sampled->variability.jitter) continue;
    const auto* observed = std::get_if<Observed>(&*scenario.sampled->variability.jitter);
    double ranks = scenario.world_size;
    if (!observed || ranks < static_cast<double>(observed->factors.size())) continue;
    notes.push_back(
        {"few-observed",
         fmt::format("{} ranks draw from {} observed times, so that nearly every iteration has the slowest "
                     "of them; how slow rarer ones are, nobody observed",
                     scenario.world_size, observed->factors.size())});
    return;
  }
}

void add_other_gpu(std::span<const Scenario> scenarios, std::vector<Note>& notes) {
  for (const auto& scenario : scenarios) {
    const auto& device = scenario.trace->metadata.device;
    if (!scenario.gpu || !device || is_device(*device, *scenario.gpu)) continue;
    notes.push_back(
        {"other-gpu",
         fmt::format("compute times are those of the trace's device, {}, not of the cluster's GPU, {} "
                     "(workload.rescale estimates them)",
                     *device, *scenario.gpu)});
    return;
  }
}

void add_table_use(std::span<const ScenarioVariant> variants, std::vector<Note>& notes) {
  struct Use {
    const MeasuredTable* table;
    std::map<Operation, Outside> outside = {};
  };
  std::vector<Use> uses;  // in order of appearance
  for (const auto& variant : variants) {
    const auto* measured = variant.base->measured_table.get();
    if (!measured) continue;
    auto use = std::ranges::find(uses, measured, &Use::table);
    if (use == uses.end()) {
      for (const auto& [operation, times] : measured->operations) {
        add_repairs(operation, times.cost, notes);
        if (times.queued) add_repairs(operation, *times.queued, notes);
      }
      use = uses.insert(use, {measured});
    }
    for (const auto& [operation, bytes] : messages_of(variant.scenario())) {
      auto read_as = measured->read_as(operation);
      auto& outside = use->outside[read_as];
      outside.count(bytes, measured->of(read_as).cost);
      outside.with_broadcasts = outside.with_broadcasts || read_as != operation;
    }
  }
  for (const auto& use : uses)
    for (const auto& [operation, outside] : use.outside)
      outside.add(operation, use.table->of(operation).cost, notes);
}

// What the scenarios' notes of one code say, in the order of appearance.
struct OwnNote {
  std::string code;
  std::vector<std::string> texts = {};  // each once
  std::size_t scenarios = 0;

  [[nodiscard]] std::string text() const {
    constexpr std::size_t kMostDraws = 8;
    if (texts.size() == 1) return texts.front();
    if (code == "nodes-drawn" && texts.size() <= kMostDraws) return fmt::format("{}", fmt::join(texts, "; "));
    return fmt::format("{} (the first of {} points with such a note)", texts.front(), scenarios);
  }
};

// Each code once: with the text of the first scenario that has it, but every draw of nodes if they are few.
void add_own(std::span<const Scenario> scenarios, std::vector<Note>& notes) {
  std::vector<OwnNote> found;
  for (const auto& scenario : scenarios)
    for (const auto& note : scenario.notes) {
      auto known = std::ranges::find(found, note.code, &OwnNote::code);
      if (known == found.end()) known = found.insert(known, {note.code});
      ++known->scenarios;
      if (std::ranges::find(known->texts, note.text) == known->texts.end()) known->texts.push_back(note.text);
    }
  for (const auto& own : found) notes.push_back({own.code, own.text()});
}

}  // namespace

std::vector<Note> notes_of(std::span<const Scenario> scenarios, std::span<const ScenarioVariant> points) {
  std::vector<Note> notes;
  add_table_use(points, notes);
  add_own(scenarios, notes);
  add_observed(scenarios, notes);
  add_other_gpu(scenarios, notes);
  add_slow(points, notes);
  return notes;
}

std::vector<Note> unmatched_notes(const std::vector<MeasuredIteration>& measured,
                                  std::span<const IterationMetrics> predictions) {
  auto unmatched = std::count_if(measured.begin(), measured.end(), [&](const MeasuredIteration& row) {
    return std::none_of(predictions.begin(), predictions.end(), [&](const IterationMetrics& prediction) {
      return matching({row}, prediction).has_value();
    });
  });
  if (unmatched == 0) return {};
  return {
      {"unmatched-measurements",
       fmt::format("{} of {} measured iterations belong to no prediction here (a bucket cap must agree to "
                   "the byte)",
                   unmatched, measured.size())}};
}

}  // namespace ddpsim
