#include "sim/study/best_cap.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include <fmt/core.h>

#include "sim/config/overrides.hpp"
#include "sim/ddp/ddp_rules.hpp"
#include "sim/study/choices.hpp"
#include "sim/study/run_all.hpp"
#include "sim/study/scenario_metrics.hpp"
#include "sim/study/simulate_once.hpp"
#include "sim/study/sweep_points.hpp"

namespace ddpsim {
namespace {

constexpr int kGridCaps = 41;  // four an octave, from 1 MiB to 1 GiB

// A cap and the iteration under all caps from it up to the next one.
struct Tried {
  Bytes from;
  Seconds iteration;
};

std::vector<config::SweepAxis> grid_of_caps(const config::Value& root) {
  config::SweepAxis axis{std::string(kBucketCapAxis), root.span, {}};
  std::set<int> caps{static_cast<int>(kDefaultBucketCap.value() / 0x1p20)};
  for (int i = 0; i < kGridCaps; ++i) caps.insert(static_cast<int>(std::lround(std::exp2(i / 4.0))));
  for (int mib : caps) axis.values.push_back(config::scalar_value(fmt::format("{}MiB", mib), root.span));
  return {std::move(axis)};
}

std::vector<Tried> run(const SweepPlan& plan, unsigned jobs) {
  std::vector<ScenarioVariant> simulated;
  std::vector<std::size_t> place(plan.points.size());
  for (std::size_t i = 0; i < plan.points.size(); ++i) {
    place[i] = plan.same_as[i] == i ? simulated.size() : place[plan.same_as[i]];
    if (plan.same_as[i] == i) simulated.push_back(plan.points[i]);
  }
  std::vector<Seconds> iterations;
  run_all(simulated, jobs, [&](std::size_t, const Scenario& scenario, const Prediction& prediction) {
    iterations.push_back(metrics_of(scenario, prediction).iteration);
  });
  std::vector<Tried> tried;
  for (std::size_t i = 0; i < plan.points.size(); ++i) {
    auto cap = plan.points[i].scenario().plan.bucket_cap;
    if (!cap)
      throw InputError("no bucket cap applies here, so there is no best one",
                       "use strategy: ddp with iteration: steady, and no ddp.bucket_caps");
    tried.push_back({*cap, iterations[place[i]]});
  }
  return tried;
}

// Of the caps in [from, to): whole MiB where there is one, else tenths, hundredths, ...; the smallest of
// them. PyTorch takes int(bucket_cap_mb * 1024 * 1024).
Bytes roundest(Bytes from, std::optional<Bytes> to) {
  double mib = from.value() / 0x1p20;
  for (double parts = 1; parts <= 1e6; parts *= 10) {
    Bytes cap(std::floor(std::ceil(mib * parts) / parts * 0x1p20));
    if (cap >= from && (!to || cap < *to)) return cap;
  }
  return from;
}

Seconds iteration_of(const Scenario& scenario, unsigned jobs) {
  Seconds iteration;
  run_all({&scenario, 1}, jobs, [&](std::size_t, const Prediction& prediction) {
    iteration = metrics_of(scenario, prediction).iteration;
  });
  return iteration;
}

config::Value with_cap(config::Value root, Bytes cap) {
  config::set_at(root, kBucketCapAxis, config::scalar_value(fmt::format("{:.0f}B", cap.value()), root.span),
                 root.span);
  return root;
}

// The roundest cap of the best buckets, which is simulated before it is named.
Bytes round_cap(const config::Value& root, Files& files, const Tried& best, std::optional<Bytes> end,
                unsigned jobs) {
  auto cap = roundest(best.from, end);
  return iteration_of(resolve(files, with_cap(root, cap)), jobs) == best.iteration ? cap : best.from;
}

}  // namespace

BestCap best_cap(const config::Value& root, Files& files, bool exact, unsigned jobs) {
  auto plan = exact ? plan_exact_optimum(root, {}, files) : plan_grid(root, grid_of_caps(root), files);
  auto tried = run(plan, jobs);

  auto without_cap = root;
  if (auto* ddp = without_cap.find("ddp"))
    std::erase_if(ddp->value.entries, [](const config::Entry& entry) { return entry.key == "bucket_cap"; });
  auto usual = resolve(files, without_cap);
  auto with_default = iteration_of(usual, jobs);

  auto best = std::min_element(tried.begin(), tried.end(),
                               [](const Tried& a, const Tried& b) { return a.iteration < b.iteration; });
  // Saying the default is not always the same as saying nothing (then the first bucket can be smaller).
  Bytes default_cap = usual.plan.bucket_cap.value_or(kDefaultBucketCap);
  auto holds_default =
      std::find_if(tried.rbegin(), tried.rend(), [&](const Tried& one) { return one.from <= default_cap; });
  bool is_default = holds_default != tried.rend() && (exact || holds_default->from == default_cap) &&
                    holds_default->iteration <= best->iteration * (1 + 1e-12);
  if (is_default) best = holds_default.base() - 1;
  auto next = [&](auto one) -> std::optional<Bytes> {
    return one + 1 == tried.end() ? std::nullopt : std::optional((one + 1)->from);
  };
  auto is_as_good = [&](const Tried& one) { return one.iteration <= best->iteration * (1 + kPlateau); };
  auto [first, last] = plateau_around(best, tried.begin(), tried.end(), is_as_good);

  BestCap result;
  result.iteration = best->iteration;
  result.cap = is_default ? default_cap
               : exact    ? round_cap(root, files, *best, next(best), jobs)
                          : best->from;
  result.plateau_least = first->from;
  if (auto end = next(last)) result.plateau_most = exact ? *end - Bytes(1) : last->from;
  result.default_cap = default_cap;
  result.with_default = with_default;
  result.tried = tried.size();
  if (!is_default) {
    auto metrics = [](const Scenario& scenario) { return simulate_once(scenario).metrics; };
    result.default_odds = odds_against(metrics(usual), metrics(resolve(files, with_cap(root, result.cap))));
  }
  return result;
}

}  // namespace ddpsim
