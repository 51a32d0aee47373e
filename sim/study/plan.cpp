#include "sim/study/plan.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include <fmt/core.h>

#include "sim/base/program_exit.hpp"
#include "sim/base/quantity.hpp"
#include "sim/config/overrides.hpp"
#include "sim/process/worker_threads.hpp"
#include "sim/study/plan_bound.hpp"
#include "sim/study/plan_buckets.hpp"
#include "sim/study/plan_odds.hpp"
#include "sim/study/plan_split.hpp"
#include "sim/study/resolve_all.hpp"
#include "sim/study/run_all.hpp"
#include "sim/study/scenario_metrics.hpp"

namespace ddpsim {
namespace {

using config::Value;

// So many are simulated before those that are left are looked at again.
constexpr std::size_t kBatch = 16;

constexpr std::array kSearched{"parallelism.tensor",   "parallelism.context",  "parallelism.pipeline",
                               "parallelism.expert",   "parallelism.sequence", "pipeline.virtual",
                               "workload.micro_batch", "workload.recompute"};

// Checkpoints by operator are PyTorch's.
bool is_of_pytorch(const std::string& strategy) {
  return find_strategy(strategy)->traits.is_of_pytorch;
}

class Planner {
 public:
  Planner(const Value& root, const PlanSpace& space, Files& files, const OnPlanned& on_progress)
      : root_(root),
        space_(space),
        files_(files),
        on_progress_(on_progress),
        least_memory_(std::numeric_limits<double>::infinity()) {}

  Plan make() {
    auto step = step_of_one_gpu();
    layers_ = step->model.layers;
    check_not_given();
    consider_splits(*step);
    std::stable_sort(candidates_.begin(), candidates_.end(),
                     [](const auto& a, const auto& b) { return a.bound < b.bound; });
    simulate();
    if (plan_.unseen && plan_.best.empty()) throw Interrupted("interrupted before a plan was known");
    if (!FirstInterrupt::came())
      plan_.bucket_sizes = try_bucket_sizes(plan_.best, root_, space_.most_memory, [&](const auto& settings) {
        return resolve(files_, with_settings(root_, settings));
      });
    keep_wanted();
    if (has_evidence_ && !FirstInterrupt::came()) compare_plans(plan_.best, root_, files_);
    bool has_fitting = !candidates_.empty();
    if (plan_.best.empty() && refusal_ && (has_fitting || plan_.considered == 0)) throw *refusal_;
    if (plan_.best.empty()) {
      plan_.least_memory = least_memory_;
    } else {
      plan_.smallest.clear();
      note_framework(step->software.name);
      note_unseen();
    }
    return std::move(plan_);
  }

 private:
  struct Candidate {
    PlanSettings settings;
    Value root;
    Seconds bound;  // of its compute
  };

  std::shared_ptr<const ModelStep> step_of_one_gpu() {
    auto whole = with_settings(
        root_, {{"workload.micro_batch", "1"}, {"strategy", "fsdp"}, {"cluster.world_size", "1"}});
    std::erase_if(whole.entries, [](const config::Entry& entry) {
      return entry.key == "parallelism" || entry.key == "batch";
    });
    auto step = resolve_step(files_, whole).model_step;
    if (!step)
      throw InputError("a list of layers says nothing of how it splits",
                       "name a transformer: ddpsim list models");
    return step;
  }

  void check_not_given() const {
    for (const char* key : kSearched)
      if (const auto* value = config::find_at(root_, key))
        throw InputError(value->span, fmt::format("a plan looks for {} itself", key),
                         "leave it out, or simulate the scenario with it");
  }

  void keep_wanted() {
    if (plan_.best.size() <= space_.wanted) return;
    // What is chosen stays, whatever stands before it.
    if (auto chosen = plan_.chosen(); chosen >= space_.wanted)
      std::swap(plan_.best[space_.wanted - 1], plan_.best[chosen]);
    plan_.best.resize(space_.wanted);
  }

  // Software is fitted to runs of one framework, which has some of the strategies.
  void note_framework(const std::string& name) {
    auto& chosen = plan_.best[plan_.chosen()];
    auto strategy = [](const PlannedPoint& point) { return setting(point.settings, "strategy"); };
    if (std::all_of(plan_.best.begin(), plan_.best.end(),
                    [&](const auto& point) { return strategy(point) == strategy(chosen); }))
      return;
    chosen.notes.push_back(
        {"one-framework",
         fmt::format("strategies are compared with the kernels of one framework, {}; Megatron-LM, PyTorch "
                     "and DeepSpeed differ in theirs, too (--framework takes another)",
                     name)});
  }

  void note_unseen() {
    if (!plan_.unseen) return;
    auto& chosen = plan_.best[plan_.chosen()];
    const auto& [seen, all, bound] = *plan_.unseen;
    chosen.notes.push_back(
        {"interrupted",
         fmt::format("interrupted when {} of {} plans that fit were looked at: {}", seen, all,
                     chosen.metrics.iteration <= bound
                         ? "none of the others is faster"
                         : fmt::format("none of the others takes less than {}", format_seconds(bound)))});
  }

  void consider_splits(const ModelStep& of) {
    bool is_long = of.step.shape.sequence >= space_.long_sequence;
    auto experts = of.model.experts.count;
    for (auto tensor : space_.tensor)
      for (auto context : space_.context)
        for (auto pipeline : space_.pipeline)
          for (auto expert : space_.expert) {
            bool is_possible = expert == 1 || (experts > 0 && experts % expert == 0);
            if ((context == 1 || is_long) && is_possible) consider_split({tensor, context, pipeline, expert});
          }
  }

  void consider_split(const PlanSplit& split) {
    auto pipeline = split.pipeline;
    for (const auto& strategy : space_.strategies)
      for (auto chunks : space_.chunks) {
        if (chunks > 1 && (pipeline == 1 || config::find_at(root_, "pipeline.schedule"))) break;
        auto settings = settings_of(split);
        settings.emplace_back("strategy", strategy);
        if (pipeline > 1 && chunks == 1 && layers_ % pipeline != 0 && layers_ > pipeline)
          settings.emplace_back("pipeline.layers", uneven_layers(layers_, pipeline));
        if (chunks > 1) settings.emplace_back("pipeline.virtual", fmt::format("{}", chunks));
        for (auto micro_batch : space_.micro_batch) consider_micro_batch(settings, strategy, micro_batch);
      }
  }

  // What is computed again costs time: where less of it fits, more is not looked at.
  void consider_micro_batch(PlanSettings settings, const std::string& strategy, std::int64_t micro_batch) {
    settings.emplace_back("workload.micro_batch", fmt::format("{}", micro_batch));
    auto& recompute = settings.emplace_back("workload.recompute", "").second;
    for (const auto& word : space_.recompute) {
      if (word == "op" && !is_of_pytorch(strategy)) continue;
      recompute = word;
      if (!consider(settings)) return;
    }
  }

  // Whether more recomputation may be worth a look.
  bool consider(const PlanSettings& settings) {
    if (FirstInterrupt::came()) throw Interrupted("interrupted before a plan was known");
    auto root = with_settings(root_, settings);
    try {
      auto step = resolve_step(files_, root);
      double share = memory_share(step);
      if (share < least_memory_) {
        least_memory_ = share;
        plan_.smallest = settings;
      }
      if (share > space_.most_memory) {
        ++plan_.considered;
        ++plan_.too_large;
        return true;
      }
      ++plan_.considered;
      candidates_.push_back({settings, std::move(root), kLeastSlowdown * bound_of(step)});
      return false;
    } catch (const InputError& error) {
      // No such split of this model, or none of the batch.
      if (!refusal_) refusal_ = error;
      return false;
    }
  }

  // So many are kept until the end.
  [[nodiscard]] std::size_t kept() const { return std::max(space_.wanted, kSizedPlans); }

  [[nodiscard]] Seconds worst_wanted() const {
    if (plan_.best.size() < kept()) return Seconds(std::numeric_limits<double>::infinity());
    return plan_.best.back().metrics.iteration;
  }

  void drop_unwanted() { plan_.best.resize(std::min(plan_.best.size(), kept())); }

  [[nodiscard]] bool is_ruled_out(Seconds bound) const { return bound > worst_wanted(); }

  // Candidates are in the order of their bounds: of the first that is ruled out.
  [[nodiscard]] std::size_t end() const {
    auto first = std::partition_point(candidates_.begin(), candidates_.end(),
                                      [&](const Candidate& one) { return !is_ruled_out(one.bound); });
    return static_cast<std::size_t>(first - candidates_.begin());
  }

  struct Batch {
    std::vector<Scenario> scenarios;
    std::vector<const PlanSettings*> settings;
  };

  // Whether the bound of its passes, with what they exchange, is known and too long.
  [[nodiscard]] bool has_long_passes(const Candidate& candidate) const {
    auto known = bounds_.find(passes_of(candidate.settings));
    return known != bounds_.end() && is_ruled_out(known->second);
  }

  // Some candidates on their clusters. Of those with the same passes the first says whether they take too
  // long.
  std::vector<Resolved> resolve_some(std::span<const Candidate> some) {
    std::vector<Resolved> found(some.size());
    std::set<std::string> passes;
    std::vector<std::size_t> firsts, others;
    for (std::size_t i = 0; i < some.size(); ++i)
      (passes.insert(passes_of(some[i].settings)).second ? firsts : others).push_back(i);
    for (const auto& turn : {firsts, others}) {
      std::vector<std::size_t> which;
      std::vector<const Value*> roots;
      for (auto i : turn)
        if (!has_long_passes(some[i])) which.push_back(i), roots.push_back(&some[i].root);
      auto resolved = resolve_all(files_, roots);
      for (std::size_t k = 0; k < which.size(); ++k) {
        if (const auto& scenario = resolved[k].scenario) {
          auto bound = least_slowdown(*scenario) * bound_of(*scenario);
          auto& least = bounds_.try_emplace(passes_of(some[which[k]].settings), bound).first->second;
          least = std::min(least, bound);
        }
        found[which[k]] = std::move(resolved[k]);
      }
    }
    return found;
  }

  void add(const Candidate& candidate, Resolved found, Batch& batch) {
    const auto& scenario = found.scenario;
    if (found.refusal) {
      --plan_.considered;
      refusal_ = std::move(found.refusal);  // says more than that of a split
    } else if (!scenario || is_ruled_out(least_slowdown(*scenario) * bound_of(*scenario))) {
      ++plan_.ruled_out;
    } else {
      batch.scenarios.push_back(*std::move(found.scenario));
      batch.settings.push_back(&candidate.settings);
    }
  }

  void simulate() {
    std::size_t next = 0;
    while (next < end()) {
      Batch batch;
      while (next < end() && batch.scenarios.size() < kBatch) {
        auto some =
            std::span(candidates_).subspan(next, std::min(kBatch - batch.scenarios.size(), end() - next));
        auto found = resolve_some(some);
        for (std::size_t i = 0; i < some.size(); ++i) add(some[i], std::move(found[i]), batch);
        next += some.size();
      }
      simulate(batch.scenarios, batch.settings);
      if (on_progress_) on_progress_(std::min(next, end()), end());
      if (FirstInterrupt::came() && next < end()) {
        plan_.unseen = {next, candidates_.size(), candidates_[next].bound};
        return;
      }
    }
    plan_.ruled_out += candidates_.size() - next;
  }

  void simulate(const std::vector<Scenario>& batch, const std::vector<const PlanSettings*>& settings) {
    run_all(batch, all_cores(), [&](std::size_t i, const Prediction& prediction) {
      ++plan_.simulated;
      has_evidence_ = has_evidence_ || batch[i].evidence;
      auto metrics = metrics_of(batch[i], prediction);
      metrics.buckets.clear();
      plan_.best.push_back({*settings[i], std::move(metrics), batch[i].notes});
    });
    sort_by_iteration(plan_.best);
    drop_unwanted();
  }

  const Value& root_;
  const PlanSpace& space_;
  Files& files_;
  const OnPlanned& on_progress_;
  double least_memory_;
  std::int64_t layers_ = 0;
  std::vector<Candidate> candidates_;
  std::map<std::string, Seconds> bounds_;  // of passes with what they exchange, by all but the strategy
  std::optional<InputError> refusal_;
  bool has_evidence_ = false;  // something is in doubt
  Plan plan_;
};

}  // namespace

PlanSpace usual_plan_space() {
  return {.tensor = {1, 2, 4, 8},
          .context = {1, 2, 4, 8, 16},
          .pipeline = {1, 2, 4, 8, 16, 32, 64},
          .expert = {1, 2, 4, 8, 16, 32, 64},
          .chunks = {1, 2, 3, 4, 5, 6, 8},
          .micro_batch = {1, 2, 4, 8},
          .recompute = {"none", "selective", "op", "full"},
          .strategies = strategies_that([](const auto& one) { return one.is_usual; })};
}

void drop_searched(Value& root) {
  auto drop = [&root](std::string_view path) {
    auto dot = path.find('.');
    auto* section = root.find(path.substr(0, dot));
    if (!section || section->value.kind != Value::Kind::map) return;
    std::erase_if(section->value.entries, [&](const config::Entry& entry) {
      return entry.key == path.substr(dot + 1) && !entry.value.span.is_typed();
    });
  };
  for (const char* key : kSearched) drop(key);
  for (const char* key : {"pipeline.layers", "pipeline.overlap_p2p", "pipeline.group",
                          "ddp.accumulation_steps", "context.kind", "tensor.overlap", "expert.tensor"})
    drop(key);
  // How it is spread is said anew for each; a section of a strategy that is not tried counts for nothing.
  std::erase_if(root.entries, [](const config::Entry& entry) {
    bool is_empty = entry.value.kind == Value::Kind::map && entry.value.entries.empty();
    return is_empty || (entry.key == "strategy" && !entry.value.span.is_typed());
  });
}

Plan make_plan(const Value& root, const PlanSpace& space, Files& files, const OnPlanned& on_progress) {
  return Planner(root, space, files, on_progress).make();
}

}  // namespace ddpsim
