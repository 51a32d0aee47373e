#include "sim/cli/explain.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <vector>

#include <fmt/format.h>

#include "sim/base/quantity.hpp"
#include "sim/cli/scenario_options.hpp"
#include "sim/config/overrides.hpp"
#include "sim/ddp/distinct_bucket_caps.hpp"
#include "sim/engine/run_all.hpp"
#include "sim/engine/scenario_reader.hpp"

namespace ddpsim::cli {
namespace {

// A change of the scenario: in the words of --set, or of what was read.
struct Change {
  std::string name;
  std::vector<std::string> overrides;
  std::function<void(Scenario&)> then = nullptr;
};

std::string percent(Seconds part, Seconds whole) {
  return fmt::format("{:.1f} %", 100 * (part / whole));
}

IterationMetrics simulate_with(ScenarioReader& reader, const config::Value& root, const Change& change) {
  auto changed = root;
  for (const auto& text : change.overrides) config::apply_override(changed, text);
  auto scenario = reader.read(changed);
  if (change.then) change.then(scenario);
  IterationMetrics metrics;
  run_all({&scenario, 1}, 1, simulator_for,
          [&](std::size_t, const Prediction& prediction) { metrics = metrics_of(scenario, prediction); });
  return metrics;
}

// The collective that ends last, and what it waited for.
void explain_tail(std::ostream& out, const IterationMetrics& m) {
  const auto& last = m.buckets.back();
  Seconds queued = last.start - last.ready;
  out << fmt::format("  the last bucket ({} of {}, {}) is ready at {}", last.index, m.n_buckets,
                     format_bytes(last.bytes), format_seconds(last.ready));
  if (queued > Seconds(1e-3) * m.iteration.value())
    out << fmt::format(", waits {} for the all-reduces before it", format_seconds(queued));
  out << fmt::format(" and takes {}\n", format_seconds(last.end - last.start));
}

void explain_terms(std::ostream& out, const IterationMetrics& m) {
  Seconds compute = m.forward + m.backward_compute + m.optimizer;
  out << fmt::format("\nof {}, {} ({}) are the model's own compute\n", format_seconds(m.iteration),
                     format_seconds(compute), percent(compute, m.iteration));
  if (m.trace_synthetic) out << fmt::format("  the trace it comes of is {}\n", *m.trace_synthetic);
  if (m.interference > Seconds(0))
    out << fmt::format("  compute loses {} ({}) to the all-reduces beside it\n",
                       format_seconds(m.interference), percent(m.interference, m.iteration));
  if (m.overhead > Seconds(0))
    out << fmt::format("  copies, hooks and launches take {} ({})\n", format_seconds(m.overhead),
                       percent(m.overhead, m.iteration));
  if (m.exposed_communication > Seconds(0))
    out << fmt::format("  it waits {} ({}) for all-reduces after backward\n",
                       format_seconds(m.exposed_communication),
                       percent(m.exposed_communication, m.iteration));
  else
    out << "  all communication is hidden behind the backward pass\n";
  explain_tail(out, m);
  if (m.communication > m.backward_compute + m.interference)
    out << fmt::format(
        "  communication ({} in all) is longer than the backward pass ({}): no cap can hide it\n",
        format_seconds(m.communication), format_seconds(m.backward_compute + m.interference));
}

const config::Value* find(const config::Value& root, const char* section, const char* key) {
  const auto* entry = root.find(section);
  const auto* inner = entry ? entry->value.find(key) : nullptr;
  return inner ? &inner->value : nullptr;
}

// The next caps that make other buckets, and twice and half the cap.
void add_caps(std::vector<Change>& changes, const Scenario& scenario) {
  if (scenario.plan.strategy != Strategy::ddp || !scenario.plan.bucket_cap) return;
  auto add = [&](const char* name, Bytes cap) {
    changes.push_back({fmt::format("{} {} (bucket_cap={:.0f}B)", name, format_bytes(cap), cap.value()),
                       {fmt::format("ddp.bucket_cap={:.0f}B", cap.value())}});
  };
  Bytes cap = *scenario.plan.bucket_cap;
  if (scenario.ddp.rule == BucketRule::torch && scenario.ddp.bucket_caps.empty()) {
    auto caps = distinct_bucket_caps(*scenario.trace, scenario.ddp);
    auto above = std::upper_bound(caps.begin(), caps.end(), cap);
    if (above != caps.end()) add("the next larger cap,", *above);
    if (above - caps.begin() > 1) add("the next smaller cap,", *(above - 2));
  }
  add("caps twice as large,", 2 * cap);
  if (cap >= Bytes(2)) add("caps half as large,", Bytes(std::floor((cap / 2).value())));
}

void halve_measured_times(Scenario& scenario) {
  auto halved = [](const MeasuredCost& cost) {
    auto points = cost.points();
    for (auto& point : points) point = {point.bytes, point.time / 2, point.time / 2};
    return MeasuredCost(std::move(points));
  };
  auto table = *scenario.measured_table;
  table.cost = halved(table.cost);
  if (table.queued) table.queued = halved(*table.queued);
  scenario.measured_table = std::make_shared<const MeasuredTable>(std::move(table));
}

std::vector<Change> changes_of(const config::Value& root, const Scenario& scenario) {
  std::vector<Change> changes;
  add_caps(changes, scenario);
  bool is_ddp = scenario.plan.strategy == Strategy::ddp;
  if (is_ddp && scenario.ddp.rule == BucketRule::torch && !scenario.ddp.gradient_as_bucket_view &&
      scenario.physics.overheads.pass_bandwidth)
    changes.push_back({"gradients as views of their buckets", {"ddp.gradient_as_bucket_view=true"}});
  for (const char* strategy : {"ddp", "overlap", "flat", "naive"})
    if (strategy != strategy_name(scenario.plan.strategy))
      changes.push_back({fmt::format("strategy {}", strategy), {fmt::format("strategy={}", strategy)}});
  if (scenario.communication)
    for (const char* algorithm : {"ring", "tree", "hierarchical"})
      changes.push_back({fmt::format("collective.algorithm {}", algorithm),
                         {fmt::format("collective={{algorithm: {}}}", algorithm)}});
  if (find(root, "workload", "stragglers")) changes.push_back({"no stragglers", {"workload.stragglers=[]"}});
  if (find(root, "cluster", "background"))
    changes.push_back({"no background traffic", {"cluster.background=[]"}});
  if (const auto& range = scenario.physics.range) {
    changes.push_back({fmt::format("interference of {} (the least that is likely)", range->least.compute),
                       {},
                       [](Scenario& s) { s.physics.interference = s.physics.range->least; }});
    changes.push_back({fmt::format("interference of {} (the most)", range->most.compute),
                       {},
                       [](Scenario& s) { s.physics.interference = s.physics.range->most; }});
  }
  if (scenario.sampled) changes.push_back({"nothing varies", {}, [](Scenario& s) { s.sampled.reset(); }});
  if (!scenario.physics.interference.is_off())
    changes.push_back({"no interference", {}, [](Scenario& s) { s.physics.interference = {}; }});
  if (!scenario.physics.overheads.is_off())
    changes.push_back({"no copies, hooks and launches", {}, [](Scenario& s) { s.physics.overheads = {}; }});
  if (scenario.measured_table) changes.push_back({"all-reduces in half the time", {}, halve_measured_times});
  return changes;
}

}  // namespace

void explain(std::ostream& out, const std::string& path, const config::Value& root,
             const IterationMetrics& metrics) {
  explain_terms(out, metrics);
  ScenarioReader reader(path);
  auto scenario = reader.read(root);
  struct Outcome {
    std::string name;
    Seconds difference;
  };
  std::vector<Outcome> outcomes;
  for (const auto& change : changes_of(root, scenario)) try {
      outcomes.push_back({change.name, simulate_with(reader, root, change).iteration - metrics.iteration});
    } catch (const InputError&) {
      // This scenario cannot be changed that way: the topology knows no such algorithm, say.
    }
  std::stable_sort(outcomes.begin(), outcomes.end(),
                   [](const auto& a, const auto& b) { return a.difference < b.difference; });
  out << "\nwhat would change it (each simulated)\n";
  for (const auto& outcome : outcomes)
    out << fmt::format("  {:>+9.3f} ms {:>+7.1f} %  {}\n", 1e3 * outcome.difference.value(),
                       100 * (outcome.difference / metrics.iteration), outcome.name);
}

}  // namespace ddpsim::cli
