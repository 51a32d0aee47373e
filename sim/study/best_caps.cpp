#include "sim/study/best_caps.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/limits.hpp"
#include "sim/base/source.hpp"
#include "sim/ddp/best_bucket_caps.hpp"
#include "sim/ddp/ddp_rules.hpp"
#include "sim/ddp/distinct_bucket_caps.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/study/choices.hpp"
#include "sim/study/point_runs.hpp"
#include "sim/study/run_all.hpp"
#include "sim/study/scenario_metrics.hpp"

namespace ddpsim {
namespace {

using OnDone = std::function<void(std::size_t done, std::size_t all)>;

constexpr TorchVersion kCapList{2, 11};       // the first with bucket_cap_mb_list
constexpr std::size_t kMostGradients = 5000;  // 12.5 million pairs

// Of the CollectiveCosts' times in place of what is simulated.
std::string left_out(const Scenario& scenario) {
  std::vector<const char*> all;
  auto add = [&](bool is_so, const char* what) {
    if (is_so) all.push_back(what);
  };
  add(scenario.fidelity != Fidelity::closed_form, "that links are shared");
  add(scenario.groups.size() > 1, "that groups start at different times");
  add(scenario.plan.process_groups > 1 || scenario.collective_workers > 1,
      "that several all-reduces run at once");
  add(!scenario.physics.interference.is_off(), "that compute and communication slow one another down");
  add(!scenario.physics.overheads.is_off(), "copies, hooks and launches");
  add(scenario.measured_table && scenario.measured_table->of(Operation::all_reduce).queued.has_value(),
      "that an all-reduce takes another time when it had to wait");
  add(scenario.sampled != nullptr, "that ranks vary");
  return fmt::format("{}", fmt::join(all, ", "));
}

// With the caps in place of its own; without any PyTorch's default is.
Scenario with_caps(const Scenario& scenario, const std::vector<Bytes>& caps) {
  auto made = scenario;
  made.ddp.bucket_cap.reset();
  made.ddp.first_bucket_cap.reset();
  made.ddp.bucket_caps = caps;
  if (!caps.empty()) made.ddp.torch = std::max(made.ddp.torch, kCapList);
  auto broadcasts = made.plan.buffer_broadcasts;
  made.plan = make_reduction_plan(*made.trace, Reducer::ddp, made.ddp);
  made.plan.buffer_broadcasts = std::move(broadcasts);
  return made;
}

BestCaps::Choice best_single(const Scenario& scenario, unsigned jobs, const OnDone& on_done) {
  std::vector<ScenarioVariant> variants;
  for_each_distinct_bucket_cap(*scenario.trace, scenario.ddp, [&](Bytes cap) {
    if (variants.size() == kMostSweepPoints)
      throw InputError(fmt::format("--best-caps: more than {} single caps to try", kMostSweepPoints),
                       "use a smaller model");
    variants.push_back({&scenario, cap});
  });
  BestCaps::Choice best;
  on_done(0, variants.size());
  run_all(variants, jobs, [&](std::size_t i, const Scenario& one, const Prediction& prediction) {
    auto metrics = metrics_of(one, prediction);
    if (best.caps.empty() || metrics.iteration < best.iteration)
      best = {{*variants[i].bucket_cap}, metrics.n_buckets, metrics.iteration};
    on_done(i + 1, variants.size());
  });
  return best;
}

std::vector<Bytes> searched_caps(const Scenario& scenario) {
  const auto& trace = *scenario.trace;
  double slowdown = 0;
  for (const auto& group : groups_with_spread(scenario))
    slowdown = std::max(slowdown, group.slowest_class().slowdown);
  std::vector<Bytes> bytes;
  std::vector<Seconds> ready;
  for (const auto& gradient : trace.gradients) {  // steady: in the order of their arrival
    bytes.push_back(gradient.bytes());
    ready.push_back(slowdown * gradient.ready);
  }
  const auto& bucket = scenario.plan.buckets.front();
  double wire = bucket.wire / bucket.bytes;
  auto costs = costs_of(scenario);
  std::map<Bytes, Seconds> known;
  auto time = [&](Bytes of) {
    auto [known_time, is_new] = known.try_emplace(of);
    if (is_new) known_time->second = costs.front().cost->alone(Operation::all_reduce, wire * of).idle;
    return known_time->second;
  };
  return caps_of_buckets(bytes, best_buckets(bytes, ready, time));
}

// How sure it is which of them is fastest.
void add_odds_of_caps(const Scenario& scenario, unsigned jobs, BestCaps& best) {
  if (!scenario.evidence) return;
  bool has_list = best.list.caps.size() > 1;
  std::vector<BestCaps::Choice*> choices{&best.usual, &best.single};
  std::vector<Scenario> scenarios{with_caps(scenario, {}),
                                  ScenarioVariant{&scenario, best.single.caps.front()}.scenario()};
  if (has_list) {
    choices.push_back(&best.list);
    scenarios.push_back(with_caps(scenario, best.list.caps));
  }
  std::vector<IterationMetrics> metrics;
  run_points(unchanged(scenarios), jobs, [&](std::size_t, const Prediction&, IterationMetrics one) {
    metrics.push_back(std::move(one));
  });
  const auto& usual = metrics.front();
  if (!usual.uncertainty) return;
  best.usual = {{*usual.bucket_cap}, usual.n_buckets, usual.iteration};
  std::vector<Way> ways;
  for (const auto& one : metrics) ways.push_back({&one, {cap_trait(one)}});
  auto odds = odds_of(ways);
  for (std::size_t i = 0; i < choices.size(); ++i) choices[i]->odds = odds[i];
  if (!has_list) best.list.odds = best.single.odds;
}

}  // namespace

void check_best_caps(const Scenario& scenario) {
  auto refuse = [](bool is_so, const char* message, const char* hint) {
    if (is_so) throw InputError(fmt::format("--best-caps: {}", message), hint);
  };
  const auto& options = scenario.ddp;
  const auto& plan = scenario.plan;
  refuse(scenario.parallel != nullptr, "of a model that GPUs share no list of caps is looked for",
         "sweep ddp.bucket_cap");
  refuse(plan.reducer != Reducer::ddp || options.rule != BucketRule::torch,
         "only DistributedDataParallel takes a list of caps", "use strategy: ddp and rule: torch");
  refuse(!options.bucket_caps.empty(), "the scenario has a list of caps already", "remove ddp.bucket_caps");
  refuse(has_initial_buckets(options) || options.set_last_bucket_cap || !plan.unused.empty(),
         "the search is for buckets in the order in which gradients arrive",
         "use ddp.iteration: steady, without find_unused_parameters, set_last_bucket_cap and unused "
         "parameters");
  refuse(options.compiled, "in a compiled graph the largest cap says when gradients are ready",
         "remove ddp.compiled");
  refuse(plan.low_rank != nullptr, "under PowerSGD a bucket's bytes are not what is all-reduced",
         "use another ddp.comm_hook");
  const auto& gradients = scenario.trace->gradients;
  refuse(std::ranges::any_of(gradients, [&](const auto& one) { return one.dtype != gradients[0].dtype; }),
         "gradients of several types have buckets of their own, and one list of caps for all of them",
         "sweep over lists of ddp.bucket_caps instead");
  refuse(gradients.size() > kMostGradients, "more than 5000 gradients are too many pairs",
         "use 'ddpsim sweep --exact-optimum', which tries single caps");
}

BestCaps best_caps(const Scenario& scenario, unsigned jobs, const OnDone& on_done) {
  BestCaps best{best_single(scenario, jobs, on_done), {}, {}, left_out(scenario)};
  auto with_list = with_caps(scenario, searched_caps(scenario));
  run_all({&with_list, 1}, jobs, [&](std::size_t, const Prediction& prediction) {
    auto metrics = metrics_of(with_list, prediction);
    best.list = {with_list.ddp.bucket_caps, metrics.n_buckets, metrics.iteration};
  });
  if (best.single.iteration < best.list.iteration) best.list = best.single;
  add_odds_of_caps(scenario, jobs, best);
  return best;
}

}  // namespace ddpsim
