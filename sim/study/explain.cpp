#include "sim/study/explain.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <ostream>
#include <vector>

#include <fmt/format.h>

#include "sim/base/quantity.hpp"
#include "sim/ddp/distinct_bucket_caps.hpp"
#include "sim/engine/scaled_all_reduces.hpp"
#include "sim/study/explain_fabric.hpp"
#include "sim/study/explain_links.hpp"
#include "sim/study/explain_outcomes.hpp"
#include "sim/study/explain_sharding.hpp"
#include "sim/study/explain_shared.hpp"
#include "sim/study/next_measurement.hpp"
#include "sim/study/what_if.hpp"

namespace ddpsim {
namespace {

std::string percent(Seconds part, Seconds whole) {
  return fmt::format("{:.1f} %", 100 * (part / whole));
}

// Others have no operation but theirs.
bool only_all_reduces(const IterationMetrics& m) {
  return std::all_of(m.operations.begin(), m.operations.end(), [](const OperationMetrics& one) {
    return one.operation == Operation::all_reduce || one.operation == Operation::broadcast;
  });
}

std::string_view collectives_of(const IterationMetrics& m) {
  return only_all_reduces(m) ? "all-reduces" : "collectives";
}

// The collective that ends last, and what it waited for.
void explain_tail(std::ostream& out, const IterationMetrics& m) {
  const auto& last = m.buckets.back();
  Seconds queued = last.start - last.ready;
  out << fmt::format("  the last bucket ({} of {}, {}) is ready at {}", last.index, m.n_buckets,
                     format_bytes(last.bytes), format_seconds(last.ready));
  if (queued > Seconds(1e-3) * m.iteration.value())
    out << fmt::format(", waits {} for the {} before it", format_seconds(queued), collectives_of(m));
  out << fmt::format(" and takes {}\n", format_seconds(last.end - last.start));
}

void explain_terms(std::ostream& out, const IterationMetrics& m) {
  Seconds compute = m.forward + m.backward_compute + m.optimizer;
  out << fmt::format("\nof {}, {} ({}) are the model's own compute\n", format_seconds(m.iteration),
                     format_seconds(compute), percent(compute, m.iteration));
  if (m.slowdown != 1)
    out << fmt::format("  rank {} computes {:.1f} % longer than the trace says: {} of that\n",
                       m.reported_rank, 100 * (m.slowdown - 1),
                       format_seconds(compute * (1 - 1 / m.slowdown)));
  if (m.trace_synthetic) out << fmt::format("  the trace it comes from is {}\n", *m.trace_synthetic);
  if (m.interference > Seconds(0))
    out << fmt::format("  compute loses {} ({}) to the {} beside it\n", format_seconds(m.interference),
                       percent(m.interference, m.iteration), collectives_of(m));
  if (m.overhead > Seconds(0))
    out << fmt::format("  copies, hooks and launches take {} ({})\n", format_seconds(m.overhead),
                       percent(m.overhead, m.iteration));
  if (m.exposed_communication > Seconds(0))
    out << fmt::format("  it waits {} ({}) for {}\n", format_seconds(m.exposed_communication),
                       percent(m.exposed_communication, m.iteration),
                       only_all_reduces(m) ? "all-reduces after backward" : "collectives");
  else
    out << "  all communication is hidden behind compute\n";
  if (!m.buckets.empty()) explain_tail(out, m);
  if (m.communication > m.backward_compute + m.interference)
    out << fmt::format(
        "  communication ({} in all) is longer than the backward pass ({}): these buckets cannot hide it "
        "all\n",
        format_seconds(m.communication), format_seconds(m.backward_compute + m.interference));
}

// The next caps that make other buckets, and twice and half the cap.
void add_caps(const WhatIf& what_if, const Scenario& scenario, std::vector<Change>& changes,
              std::vector<LeftOut>& left_out) {
  if (!scenario.is(&StrategyTraits::is_ddp) || !scenario.plan.bucket_cap) {
    if (!reduction_size(what_if.given().job))
      left_out.push_back({"other bucket caps", "the strategy has none"});
    return;
  }
  auto add = [&](const char* name, Bytes cap) {
    changes.push_back({fmt::format("{} {} (bucket_cap={:.0f}B)", name, format_bytes(cap), cap.value()),
                       {fmt::format("ddp.bucket_cap={:.0f}B", cap.value())}});
  };
  Bytes cap = *scenario.plan.bucket_cap;
  if (scenario.ddp.rule == BucketRule::torch && scenario.ddp.bucket_caps.empty() && !scenario.ddp.compiled) {
    auto caps = distinct_bucket_caps(*scenario.trace, scenario.ddp);
    auto above = std::upper_bound(caps.begin(), caps.end(), cap);
    if (above != caps.end()) add("the next larger cap,", *above);
    if (above - caps.begin() > 1) add("the next smaller cap,", *(above - 2));
  } else {
    left_out.push_back({"the next caps of other buckets",
                        "they are known for one cap, PyTorch's rule and a graph that is not compiled"});
  }
  add("caps twice as large,", 2 * cap);
  if (cap >= Bytes(2)) add("caps half as large,", Bytes(std::floor((cap / 2).value())));
}

void add_views(const Scenario& scenario, std::vector<Change>& changes, std::vector<LeftOut>& left_out) {
  bool is_possible = scenario.is(&StrategyTraits::is_ddp) && scenario.ddp.rule == BucketRule::torch;
  if (!is_possible || scenario.ddp.gradient_as_bucket_view) return;
  const char* name = "gradients as views of their buckets";
  if (scenario.physics.overheads.pass_bandwidth)
    changes.push_back({name, {"ddp.gradient_as_bucket_view=true"}});
  else
    left_out.push_back({name, "without physics.pass_bandwidth copies cost nothing"});
}

bool is_alone(const Scenario& scenario) {
  return scenario.communication && scenario.communication->is_alone();
}

// Those of NCCL where its model is in use, else plain schedules.
void add_algorithms(const WhatIf& what_if, const Scenario& scenario, std::vector<Change>& changes,
                    std::vector<LeftOut>& left_out) {
  if (is_alone(scenario)) return;
  if (!scenario.communication) {
    left_out.push_back({"other algorithms", "a measured table says what all-reduces take"});
    return;
  }
  if (scenario.communication->library) {
    bool is_gloo = scenario.communication->library->backend() == Backend::gloo;
    left_out.push_back({"other algorithms", is_gloo ? "Gloo has one ring" : "MPI's rules pick them"});
    changes.push_back({"backend nccl", {"collective={backend: nccl}"}});
    return;
  }
  if (!scenario.communication->nccl.empty()) return;  // a row of its own says which are worth trying
  std::string kept;                                   // who communicates stays
  for (const char* key : {"backend", "workers"})
    if (const auto* value = what_if.find(fmt::format("collective.{}", key)))
      kept += fmt::format(", {}: {}", key, value->scalar);
  for (const char* algorithm : {"ring", "tree", "hierarchical"})
    if (algorithm != algorithm_name(scenario.communication->options.algorithm))
      changes.push_back({fmt::format("collective.algorithm {}", algorithm),
                         {fmt::format("collective={{algorithm: {}{}}}", algorithm, kept)}});
}

// Of a model that every GPU has.
void add_data_parallel_changes(const WhatIf& what_if, const Scenario& scenario, std::vector<Change>& changes,
                               std::vector<LeftOut>& left_out) {
  add_caps(what_if, scenario, changes, left_out);
  add_views(scenario, changes, left_out);
  add_strategies(scenario, changes, [&](const StrategyTraits& one) {
    return scenario.strategy_plan ? one.is_sharded || one.is_ddp : one.all_reduces;
  });
  add_sharding_changes(what_if, scenario, changes);
  add_algorithms(what_if, scenario, changes, left_out);
  add_link_changes(what_if, scenario, changes, left_out);
}

// Whether what a key says is what decides.
bool is_at_hand(const Scenario& scenario, std::string_view path) {
  if (path.starts_with("collective.nccl"))
    return scenario.communication && !scenario.communication->nccl.empty() && !is_alone(scenario);
  return !path.starts_with("workload.recompute") || scenario.model_step;
}

void add_less_variation(const Scenario& scenario, std::vector<Change>& changes) {
  if (!scenario.sampled) return;
  changes.push_back({"nothing varies", {}, [](Scenario& s) { s.sampled = nullptr; }});
  if (!scenario.sampled->weather.empty())
    changes.push_back({"the fabric to oneself", {}, [](Scenario& s) {
                         auto sampled = *s.sampled;
                         sampled.weather.clear();
                         sampled.variability.weather.reset();
                         s.sampled = std::make_shared<const SampledRanks>(std::move(sampled));
                       }});
}

void add_other_physics(const Scenario& scenario, std::vector<Change>& changes) {
  const auto& physics = scenario.physics;
  if (const auto& range = physics.range; range && range->least.interference != range->most.interference) {
    changes.push_back(
        {fmt::format("interference of {} (the least that is likely)", range->least.interference.compute),
         {},
         [](Scenario& s) { s.physics.interference = s.physics.range->least.interference; }});
    changes.push_back({fmt::format("interference of {} (the most)", range->most.interference.compute),
                       {},
                       [](Scenario& s) { s.physics.interference = s.physics.range->most.interference; }});
  }
  if (physics.spread != Spread() && !scenario.sampled)
    changes.push_back({"all GPUs as fast", {}, [](Scenario& s) { s.physics.spread = {}; }});
  if (!physics.interference.is_off())
    changes.push_back({"no interference", {}, [](Scenario& s) { s.physics.interference = {}; }});
  if (!physics.overheads.is_off())
    changes.push_back({"no copies, hooks and launches", {}, [](Scenario& s) { s.physics.overheads = {}; }});
}

std::vector<Change> changes_of(const WhatIf& what_if, const Scenario& scenario,
                               std::vector<LeftOut>& left_out) {
  std::vector<Change> changes;
  if (scenario.parallel)
    add_shared_changes(what_if, scenario, changes);
  else
    add_data_parallel_changes(what_if, scenario, changes, left_out);
  for (const auto& [path, value] : trials(what_if.given()))
    if (is_at_hand(scenario, path))
      changes.push_back({fmt::format("{} {}", path, value), {fmt::format("{}={}", path, value)}});
  if (what_if.find("workload.stragglers")) changes.push_back({"no stragglers", {"workload.stragglers=[]"}});
  add_fabric_changes(scenario, changes);
  add_less_variation(scenario, changes);
  if (what_if.find("cluster.background"))
    changes.push_back({"no background traffic", {"cluster.background=[]"}});
  add_other_physics(scenario, changes);
  if (scenario.measured_table || (scenario.communication && scenario.communication->library))
    changes.push_back({"all-reduces in half the time", {}, [](Scenario& s) {
                         scale_all_reduces(s, {0.5, 0.5});
                       }});
  return changes;
}

}  // namespace

Cell::Fields explain(std::ostream& out, const std::string& path, const std::string& job,
                     const config::Value& root, const IterationMetrics& metrics, const OnTried& on_progress) {
  WhatIf what_if(path, root);
  auto scenario = what_if.scenario();
  if (scenario.parallel) {
    explain_losses(out, metrics);
  } else {
    explain_terms(out, metrics);
    if (!is_alone(scenario)) explain_all_reduces(out, what_if, scenario, metrics);
  }
  std::vector<LeftOut> left_out;
  std::vector<Outcome> outcomes;
  BestSharding best;
  auto changes = changes_of(what_if, scenario, left_out);
  std::size_t done = 0;
  for (const auto& change : changes) {
    try {
      outcomes.push_back(outcome_of(change, what_if.simulate(change), metrics));
      best.add(outcomes.back());
    } catch (const InputError& error) {
      left_out.push_back({change.name, error.message()});
    }
    if (on_progress) on_progress(++done, changes.size());
  }
  std::stable_sort(outcomes.begin(), outcomes.end(),
                   [](const auto& a, const auto& b) { return a.difference < b.difference; });
  print_outcomes(out, outcomes, metrics.iteration, left_out);
  best.print(out, metrics.iteration);
  if (auto note = note_on_links(scenario); !note.empty()) out << fmt::format("({})\n", note);
  auto fields = outcome_fields(outcomes, left_out);
  fields.emplace_back("narrow", print_narrowing(out, narrowing_of(job, what_if, scenario, metrics)));
  return fields;
}

}  // namespace ddpsim
