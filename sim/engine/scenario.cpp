#include "sim/engine/scenario.hpp"

#include <algorithm>
#include <numeric>

#include "sim/engine/set_apart.hpp"
#include "sim/program/recorded_ranks.hpp"
#include "sim/strategy/all_reduce_plan.hpp"
#include "sim/strategy/recorded_memory.hpp"

namespace ddpsim {

const RankClass& RankGroup::slowest_class() const {
  return *std::max_element(rank_classes.begin(), rank_classes.end(),
                           [](const auto& a, const auto& b) { return a.slowdown < b.slowdown; });
}

namespace {

// A stage waits for its slowest, whichever copy of the model that works on; a full pipeline for the slowest
// of all, which is taken to be on the stage with the most to do.
void set_slowest_of_stages(std::span<const Seconds> work, const Spread& spread, RankGroup& job) {
  auto busiest = static_cast<std::size_t>(std::ranges::max_element(work) - work.begin());
  // Stragglers that are known are on their own stages.
  auto alike = job.nodes;
  for (auto& node : alike)
    for (auto& ranks : node.ranks) ranks.slowdown = 1;
  for (auto& one : job.rank_classes) {
    auto slowest = std::max(expected_slowest(one.nodes, spread.ranks, spread.nodes), one.slowdown);
    if (one.program == busiest)
      slowest = std::max(slowest, expected_slowest(alike, spread.ranks, spread.nodes));
    one.slowdown = slowest;
  }
}

// By stage.
std::vector<Seconds> work_of_stages(const Scenario& scenario) {
  std::vector<Seconds> work;
  if (scenario.parallel)
    for (const auto& chunks : scenario.parallel->plan.times) {
      auto& sum = work.emplace_back();
      for (const auto& chunk : chunks)
        sum += chunk.forward + chunk.recompute + chunk.input_gradient + chunk.weight_gradient;
    }
  else
    for (const auto& step : scenario.trace->steps)
      work.push_back(std::accumulate(step->times.begin(), step->times.end(), Seconds()));
  return work;
}

}  // namespace

bool Scenario::has_stages() const {
  return parallel || std::ranges::any_of(groups.front().rank_classes,
                                         [](const RankClass& one) { return one.program > 0; });
}

std::vector<RankGroup> groups_with_spread(const Scenario& scenario) {
  auto groups = scenario.groups;
  const auto& spread = scenario.physics.spread;
  if (spread == Spread()) return groups;
  if (scenario.has_stages()) {
    set_slowest_of_stages(work_of_stages(scenario), spread, groups.front());
    return groups;
  }
  for (auto& group : groups) {
    auto nodes = group.nodes;
    if (nodes.empty())
      for (nodes.emplace_back(); const auto& one : group.rank_classes)
        nodes.front().ranks.push_back({one.slowdown, one.ranks});
    auto slowest = expected_slowest(nodes, spread.ranks, spread.nodes);
    auto of = std::max_element(group.rank_classes.begin(), group.rank_classes.end(),
                               [](const auto& a, const auto& b) { return a.slowdown < b.slowdown; });
    auto which = static_cast<std::size_t>(of - group.rank_classes.begin());
    set_first_apart(group.rank_classes, which);
    auto& alone = group.rank_classes[which];
    alone.slowdown = std::max(slowest, alone.slowdown);
  }
  return groups;
}

std::string_view Scenario::network_name() const {
  if (fidelity == Fidelity::closed_form) return "alone";
  return name_in(kSharedNetworkNames, network);
}

std::optional<MemoryParts> Scenario::memory() const {
  if (auto all = memory_of_recordings(); !all.empty())
    return *std::ranges::max_element(all, {}, [](const auto& one) { return one.peak(); });
  if (!model_step || (strategy && !strategy->traits.knows_memory)) return std::nullopt;
  if (parallel) return parallel->fullest().memory();
  return model_step->memory(held_states());
}

std::vector<MemoryParts> Scenario::memory_of_recordings() const {
  std::vector<MemoryParts> all;
  if (!recorded || !is(&StrategyTraits::is_of_recording)) return all;
  auto ranks = recorded_ranks(recorded->recordings);
  for (std::size_t i = 0; i < recorded->recordings.size(); ++i)
    all.push_back(
        recorded_memory(*recorded, *recorded->recordings[i], static_cast<int>(ranks.of_program[i].size())));
  return all;
}

HeldStates Scenario::held_states() const {
  HeldOf of{*trace, *model_step, ddp.gradient_as_bucket_view, plan.accumulation_steps,
            static_cast<double>(model_step->model.block_parameters())};
  auto held = strategy_plan ? strategy_plan->held(of) : AllReducePlan(plan).held(of);
  const auto* whole = trace.get();
  held.trained = trained_of({&whole, 1}, false);
  held.keeps_gradients = held.state || plan.accumulation_steps > 1 || ddp.gradient_as_bucket_view;
  held.communicators = world_size > 1 ? std::max(1, held.communicators) : 0;
  return held;
}

double Scenario::recomputed_share() const {
  auto layers = static_cast<double>(model_step->model.layers);
  if (!parallel) return std::min(1.0, static_cast<double>(model_step->step.shape.recomputed) / layers);
  double all = 0, recomputed = 0;
  for (const auto& stage : parallel->stages) {
    all += static_cast<double>(stage.layers);
    recomputed += static_cast<double>(stage.recomputed);
  }
  return recomputed / all;
}

std::optional<Bytes> Scenario::memory_of_others() const {
  if (!model_step || !is(&StrategyTraits::is_one_process)) return std::nullopt;
  auto state = model_step->state;
  state.optimizer = state.step_copy = 0;
  auto held = held_states();
  held.state = state;
  held.buckets = {};
  return model_step->memory(held).peak();
}

void set_software(Scenario& scenario, const Software& software) {
  if (scenario.recorded) {
    auto work = std::make_shared<RecordedWork>(*scenario.recorded);
    work->software = software;
    scenario.trace = std::make_shared<const LayerTrace>(recorded_trace(timed(*work)));
    scenario.recorded = std::move(work);
    return retime_plan(scenario);
  }
  auto step = std::make_shared<ModelStep>(*scenario.model_step);
  step->software = software;
  KnownParts parts;
  scenario.trace =
      std::make_shared<LayerTrace>(transformer_trace(step->model, step->gpu, software, step->step, parts));
  if (scenario.parallel)
    scenario.parallel = std::make_shared<const ParallelStep>(
        make_parallel_step(*step, scenario.parallel->options, parts, scenario.parallel->tensor,
                           scenario.parallel->context, scenario.parallel->expert));
  scenario.model_step = std::move(step);
  retime_plan(scenario);
}

void retime_plan(Scenario& scenario) {
  if (!scenario.strategy_plan) return;
  if (auto plan = scenario.strategy_plan->retimed(*scenario.trace, scenario.model_step.get()))
    scenario.strategy_plan = std::move(plan);
}

bool Scenario::is_asynchronous() const {
  return strategy_plan && strategy_plan->is_asynchronous();
}

std::string Scenario::algorithm() const {
  if (measured_table) return "measured";
  if (communication->is_alone()) return "none";
  if (is(&StrategyTraits::has_servers)) return "direct";
  if (communication->library) return std::string(backend_name(communication->library->backend()));
  if (is(&StrategyTraits::only_rings) && communication->nccl.empty())
    return "ring";  // of gathers and reduce-scatters, whatever was asked for
  return communication->nccl.empty() ? std::string(algorithm_name(communication->options.algorithm)) : "nccl";
}

bool Scenario::shares_links() const {
  if (collective_workers > 1) return true;
  return communication && communication->folded && communication->folded->is_contended();
}

double largest_slowdown(std::span<const RankGroup> groups) {
  double largest = 0;
  for (const auto& group : groups) largest = std::max(largest, group.slowest_class().slowdown);
  return largest;
}

}  // namespace ddpsim
