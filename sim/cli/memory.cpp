#include <algorithm>
#include <array>
#include <functional>
#include <iostream>
#include <memory>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "sim/base/output_file.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/notes.hpp"
#include "sim/cli/scenario_options.hpp"
#include "sim/compute/memory_advice.hpp"
#include "sim/config/overrides.hpp"
#include "sim/report/memory_snapshot.hpp"
#include "sim/report/memory_table.hpp"
#include "sim/resolve/resolve.hpp"
#include "sim/resolve/unused_axes.hpp"
#include "sim/strategy/recorded_memory.hpp"

namespace ddpsim::cli {
namespace {

using Settings = std::vector<std::pair<std::string, std::string_view>>;

// More GPUs that share a copy of the model, as far as there are any, with as many samples a step as now.
void add_splits(const Scenario& scenario, bool has_batch,
                const std::function<void(std::string, const Settings&)>& add) {
  int tensor = 1, pipeline = 1;
  if (const auto& parallel = scenario.parallel) {
    tensor = parallel->options.degrees.tensor;
    pipeline = parallel->options.degrees.pipeline;
  }
  // The optimizer is sharded, and nothing of what stages compute with.
  auto shares = [](const auto& one) {
    return one.only_rings && one.shares_stages && !one.needs_several && !one.shards_weights;
  };
  std::string strategy(scenario.parallel ? scenario.strategy->name() : strategies_that(shares).front());
  for (auto [t, p] : {std::pair(2, 1), {1, 2}, {4, 1}, {8, 1}, {1, 4}, {8, 2}, {8, 4}, {8, 8}}) {
    if (scenario.world_size % (t * tensor * p * pipeline) != 0) continue;
    auto tensor_text = std::to_string(t * tensor), pipeline_text = std::to_string(p * pipeline);
    auto steps = std::to_string(t * p * scenario.ddp.accumulation_steps);
    Settings settings{
        {"parallelism.tensor", tensor_text}, {"parallelism.pipeline", pipeline_text}, {"strategy", strategy}};
    if (!has_batch) settings.emplace_back("ddp.accumulation_steps", steps);
    add(fmt::format("parallelism: {{tensor: {}, pipeline: {}}}, strategy: {}", tensor_text, pipeline_text,
                    strategy),
        settings);
  }
  if (!scenario.parallel) return;
  add("recompute: full", {{"workload.recompute", "full"}});
  add("micro_batch: 1", {{"workload.micro_batch", "1"}});
}

// What each strategy that shards would hold instead, and what offloading leaves.
std::vector<MemoryOption> other_strategies(const ScenarioOptions& options, const config::Value& root,
                                           const Scenario& scenario) {
  std::vector<MemoryOption> others;
  if (scenario.world_size == 1) return others;
  Files files(options.file);
  auto add = [&](std::string change, const Settings& settings) {
    auto other = root;
    for (const auto& [key, text] : settings)
      config::set_at(other, key, config::scalar_value(std::string(text), root.span), root.span);
    try {
      others.push_back({std::move(change), resolve_step(files, other).memory()->peak()});
    } catch (const InputError&) {
      // Shards within groups that this cluster does not have.
    }
  };
  for (const auto* strategy : strategies())
    if (strategy->traits.is_sharded && strategy->traits.knows_memory && strategy != scenario.strategy)
      add(fmt::format("strategy: {}", strategy->name()), {{"strategy", strategy->name()}});
  add_splits(scenario, root.find("batch") != nullptr, add);
  for (const auto* strategy : strategies()) {
    Settings settings{{"strategy", strategy->name()}};
    auto keys = strategy->traits.is_usual ? strategy->keys_on_host() : std::vector<std::string_view>();
    if (keys.empty()) continue;
    for (auto key : keys) settings.emplace_back(key, "true");
    add(fmt::format("on the host: strategy: {}, {}: true", strategy->name(), fmt::join(keys, ": true, ")),
        settings);
  }
  return others;
}

struct MemoryOptions : ScenarioOptions {
  std::string plot, timeline;
};

// Of the rank that holds most.
std::vector<MemoryEvent> timeline_of(const Scenario& scenario) {
  if (scenario.recorded) {
    auto held = scenario.memory_of_recordings();
    auto fullest = std::ranges::max_element(held, {}, [](const auto& one) { return one.peak(); });
    return recorded_memory_timeline(
        *scenario.recorded->recordings[static_cast<std::size_t>(fullest - held.begin())]);
  }
  if (scenario.parallel) {
    const auto& stage = scenario.parallel->fullest();
    return memory_timeline(stage.held, stage.order, stage.chunks);
  }
  const auto& step = *scenario.model_step;
  std::vector<PipelineTask> order;
  for (int i = 0; i < scenario.plan.accumulation_steps; ++i) {
    order.push_back({{PassKind::forward, 0, i}});
    order.push_back({{PassKind::backward, 0, i}});
  }
  return memory_timeline(step.memory(scenario.held_states(), step.whole()), order,
                         std::array{step.model.layers});
}

void memory(const MemoryOptions& options) {
  options.check_outputs({{"--plot", options.plot}, {"--timeline", options.timeline}});
  check_plot_path(options.plot);
  std::vector<Note> said;  // while it was loaded
  auto root = options.load(said);
  auto written = options.written(root);
  take_unused_axes(root);
  auto scenario = resolve_step(Files(options.file), root);
  if (!scenario.is_timed_by_law())
    throw InputError(
        fmt::format("{}: the workload does not say what a GPU keeps in memory", options.file),
        "name a transformer: workload.model: llama-2-7b; traces and lists of layers say nothing of "
        "activations");
  auto held = scenario.memory();
  if (!held && scenario.recorded)
    throw InputError(fmt::format("{}: a recorded script holds what it was recorded with", options.file),
                     "leave 'strategy' out");
  if (!held)
    throw InputError(fmt::format("{}: a program does not say what a GPU holds", options.file),
                     "ask of the strategy it is like: --set strategy=fsdp");
  const auto& gpu = scenario.gpu_of_law();
  MemoryReport report{{*held, gpu.memory, gpu.name, scenario.memory_of_others()}, {}, {}, {}};
  if (auto of_ranks = scenario.memory_of_recordings(); !of_ranks.empty())
    for (std::size_t i = 0; i < of_ranks.size(); ++i)
      report.ranks.push_back({scenario.recorded->recordings[i]->rank, of_ranks[i]});
  if (scenario.parallel)
    for (const auto& stage : scenario.parallel->stages)
      report.stages.push_back({stage.layers, stage.memory()});
  const auto& metrics = report.memory;
  auto& advice = report.options;
  if (!metrics.fits() && scenario.model_step) {
    const auto& step = *scenario.model_step;
    advice = other_strategies(options, root, scenario);
    if (!scenario.parallel)
      for (auto& option : memory_options(step, scenario.held_states(), scenario.groups.front().ranks))
        advice.push_back(std::move(option));
  }
  if (!options.quiet) print_notes(scenario.notes);
  scenario.notes.insert(scenario.notes.begin(), said.begin(), said.end());
  if (options.prints_summary()) print_memory(std::cout, standard_output(), report);
  OutputPhase writing;
  write_output(options.out, written);
  write_output(options.json, [&] { return memory_report_json(report, tool_info(), scenario.notes); });
  write_output(options.csv, [&] { return memory_csv(metrics); });
  write_output(options.timeline, [&] { return memory_snapshot(timeline_of(scenario)); });
  write_output(options.plot, [&] {
    return svg(memory_chart(timeline_of(scenario), metrics.capacity,
                            fmt::format("Memory of a step, {}", metrics.gpu)));
  });
}

}  // namespace

Command memory_command() {
  auto options = std::make_shared<MemoryOptions>();
  Command command{.name = "memory",
                  .description = "What a GPU holds at the peak of a model's step, and what would make it fit",
                  .example = "  ddpsim memory configs/llama-2-7b-64xh100.yaml --set workload.micro_batch=4",
                  .run = [options] { memory(*options); }};
  options->add_to(command);
  options->add_job_to(command, {"--tokens", "--price"});
  command.options.push_back(output_option(
      "--timeline", &options->timeline,
      "Write a step of the fullest rank as a snapshot for PyTorch's memory viewer (pytorch.org/memory_viz)"));
  command.options.push_back(
      output_option("--plot", &options->plot, "Draw the same as a picture", "FILE.svg"));
  return command;
}

}  // namespace ddpsim::cli
