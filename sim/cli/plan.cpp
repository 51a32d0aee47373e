#include "sim/study/plan.hpp"

#include <algorithm>
#include <iostream>
#include <memory>

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "sim/base/limits.hpp"
#include "sim/base/output_file.hpp"
#include "sim/base/quantity.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/notes.hpp"
#include "sim/cli/scenario_options.hpp"
#include "sim/config/overrides.hpp"
#include "sim/report/csv_parts.hpp"
#include "sim/report/json_parts.hpp"

namespace ddpsim::cli {
namespace {

using json::Json;

// Steps of tensor and pipeline parallelism are predicted to some 5 % (docs/accuracy.md): closer ones are
// ties.
constexpr double kTie = 0.02;

struct PlanOptions {
  std::string model, topology, gpus, batch, dtype, framework, sequence, json, csv;
  std::vector<std::string> overrides, strategies;
  double most_memory = kFittingShare;
  int top = 10;
  bool quiet = false;
};

config::Value root_of(const PlanOptions& options) {
  config::Value root;
  root.kind = config::Value::Kind::map;
  root.span.file = std::make_shared<const SourceFile>(SourceFile{"--set", {}});
  auto set = [&root](const std::string& key, const std::string& text) {
    if (!text.empty()) config::apply_override(root, key + "=" + text);
  };
  set("workload.model", options.model);
  set("workload.sequence", options.sequence);
  set("workload.dtype", options.dtype);
  set("workload.framework", options.framework);
  set("cluster.topology", options.topology);
  set("cluster.world_size", options.gpus);
  set("batch.global", options.batch);
  // In this process, however many there are.
  set("engine.network", "builtin");
  for (const auto& one : options.overrides) config::apply_override(root, one);
  return root;
}

std::string split_of(const IterationMetrics& m) {
  if (!m.shared_model) return fmt::format("{:>6} {:>5} {:>8}", 1, m.world_size, 1);
  const auto& model = *m.shared_model;
  auto pipeline = model.chunks > 1 ? fmt::format("{} x {}", model.pipeline, model.chunks)
                                   : fmt::format("{}", model.pipeline);
  return fmt::format("{:>6} {:>5} {:>8}", model.tensor, model.data, pipeline);
}

std::string setting(const PlannedPoint& point, std::string_view key) {
  for (const auto& [name, value] : point.settings)
    if (name == key) return value;
  return "";
}

// The two that cost most.
std::string losses_of(const IterationMetrics& m) {
  auto losses = m.losses;
  std::stable_sort(losses.begin(), losses.end(),
                   [](const Loss& a, const Loss& b) { return a.seconds > b.seconds; });
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < std::min<std::size_t>(2, losses.size()); ++i)
    texts.push_back(fmt::format("{} {:.1f} %", losses[i].cause, 100 * (losses[i].seconds / m.iteration)));
  return fmt::format("{}", fmt::join(texts, ", "));
}

void print_counts(const Plan& plan) {
  std::cout << fmt::format(
      "{} combinations: {} do not fit, {} simulated, {} ruled out by a bound below which no step is\n",
      plan.considered, plan.too_large, plan.simulated, plan.ruled_out);
}

void print_plan(const Plan& plan, const PlanOptions& options) {
  if (plan.best.empty()) {
    std::vector<std::string> smallest;
    for (const auto& [key, value] : plan.smallest) smallest.push_back(fmt::format("{}={}", key, value));
    std::cout << fmt::format("nothing fits: the smallest takes {:.2f} times a GPU's memory: {}\n",
                             plan.least_memory, fmt::join(smallest, " "));
    return print_counts(plan);
  }
  std::cout << fmt::format("{:>12} {:>10} {:>6} {:>9}  {:>6} {:>5} {:>8} {:>11} {:<10} {:<9}  {}\n",
                           "iteration s", "tokens/s/G", "MFU", "memory GB", "tensor", "data", "pipeline",
                           "micro-batch", "recompute", "strategy", "lost to");
  const auto& first = plan.best.front().metrics;
  std::size_t ties = 0;
  for (const auto& point : plan.best) {
    const auto& m = point.metrics;
    ties += m.iteration <= (1 + kTie) * first.iteration;
    auto micro_batches = fmt::format("{}", setting(point, "workload.micro_batch"));
    std::cout << fmt::format("{:>12.4f} {:>10.0f} {:>5.1f}% {:>9.1f}  {} {:>11} {:<10} {:<9}  {}\n",
                             m.iteration.value(), m.tokens_per_s.value_or(0) / m.gpus(),
                             m.compute ? 100 * m.compute->mfu() : 0, m.memory->parts.peak().value() / 1e9,
                             split_of(m), micro_batches, setting(point, "workload.recompute"),
                             setting(point, "strategy"), losses_of(m));
  }
  if (ties > 1)
    std::cout << fmt::format(
        "the first {} are within {:.0f} % of one another: ties, by what such estimates are off\n", ties,
        100 * kTie);
  std::vector<std::string> settings;
  for (const auto& [key, value] : plan.best.front().settings)
    settings.push_back(fmt::format("--set {}={}", key, value));
  std::cout << fmt::format("best: {}\n", fmt::join(settings, " "));
  print_counts(plan);
  if (options.most_memory != kFittingShare)
    std::cout << fmt::format("up to {:.0f} % of a GPU's memory\n", 100 * options.most_memory);
}

std::string plan_json(const Plan& plan, const std::vector<Note>& notes) {
  Json result;
  result["points"] = Json::array();
  for (const auto& point : plan.best) {
    Json one;
    for (const auto& [key, value] : point.settings) one["set"][key] = value;
    json::add_metrics(point.metrics, one);
    result["points"].push_back(std::move(one));
  }
  result["considered"] = plan.considered;
  result["too_large"] = plan.too_large;
  result["ruled_out"] = plan.ruled_out;
  result["simulated"] = plan.simulated;
  if (plan.best.empty()) result["least_memory_share"] = plan.least_memory;
  result["notes"] = json::notes(notes);
  result["tool"] = json::tool(tool_info());
  return json::text_of(result);
}

std::string plan_csv(const Plan& plan) {
  std::string text =
      "iteration_s,tokens_per_s,mfu,memory_peak_bytes,tensor,pipeline,virtual,micro_batch,recompute,"
      "strategy\n";
  for (const auto& point : plan.best) {
    const auto& m = point.metrics;
    auto model = m.shared_model.value_or(SharedModelMetrics{});
    text += csv::line_of({csv::seconds(m.iteration), csv::number(m.tokens_per_s),
                          fmt::format("{}", m.compute->mfu()), csv::bytes(m.memory->parts.peak()),
                          fmt::format("{}", model.tensor), fmt::format("{}", model.pipeline),
                          fmt::format("{}", model.chunks), setting(point, "workload.micro_batch"),
                          setting(point, "workload.recompute"), setting(point, "strategy")});
  }
  return text;
}

void plan(const PlanOptions& options) {
  check_outputs({{"--json", options.json}, {"--csv", options.csv}});
  auto root = root_of(options);
  auto space = usual_plan_space();
  space.most_memory = options.most_memory;
  space.wanted = static_cast<std::size_t>(options.top);
  if (!options.strategies.empty()) space.strategies = space.strategies_of_shared = options.strategies;
  ScenarioReader reader("--set");
  auto found = make_plan(root, space, reader);
  std::vector<Note> notes;
  if (!found.best.empty()) {
    auto best = root;
    for (const auto& [key, value] : found.best.front().settings)
      config::apply_override(best, fmt::format("{}={}", key, value));
    notes = reader.read(best).notes;
  }
  bool prints = !options.quiet && options.json != "-" && options.csv != "-";
  if (!options.quiet) print_notes(notes);
  if (prints) print_plan(found, options);
  OutputPhase writing;
  write_output(options.json, [&] { return plan_json(found, notes); });
  write_output(options.csv, [&] { return plan_csv(found); });
}

}  // namespace

Command plan_command() {
  auto options = std::make_shared<PlanOptions>();
  Command command{
      .name = "plan",
      .description =
          "How to spread a model over GPUs: tensor, pipeline and data parallelism, micro-batch, "
          "recomputation and strategy, fastest first",
      .example = "  ddpsim plan llama-3-70b --topology superpod-h100 --gpus 1024 --global-batch 1024",
      .run = [options] { plan(*options); }};
  command.options = {
      {.name = "MODEL",
       .value = &options->model,
       .description = "A model by name, or its file",
       .is_required = true},
      {.name = "--topology",
       .value = &options->topology,
       .description = "Cluster, by name or file",
       .is_required = true},
      {.name = "--gpus", .value = &options->gpus, .description = "How many GPUs", .is_required = true},
      {.name = "--global-batch",
       .value = &options->batch,
       .description = "Samples a step, of all GPUs",
       .is_required = true},
      {.name = "--sequence", .value = &options->sequence, .description = "Tokens a sample"},
      {.name = "--dtype",
       .value = &options->dtype,
       .description = "What is computed in: bf16, fp16, fp8, ..."},
      {.name = "--framework",
       .value = &options->framework,
       .description = "Software whose steps were measured"},
      {.name = "--strategy",
       .value = &options->strategies,
       .description = "Along the data axis (repeatable)"},
      {.name = "--max-memory",
       .value = &options->most_memory,
       .description = "Share of a GPU's memory that a step may take",
       .shows_default = true,
       .range = std::pair(0.01, 1.0)},
      {.name = "--top",
       .value = &options->top,
       .description = "So many are shown",
       .shows_default = true,
       .range = std::pair(1.0, 1000.0)},
      {.name = "--set",
       .value = &options->overrides,
       .description = "Any other scenario key (repeatable)",
       .type = "KEY=VALUE"},
      output_option("--json", &options->json, "Write the result as JSON; '-' is standard output", "PATH|-"),
      output_option("--csv", &options->csv, "Write the result as CSV; '-' is standard output", "PATH|-"),
      {.name = "--quiet", .value = &options->quiet, .description = "No summary and no notes"}};
  return command;
}

}  // namespace ddpsim::cli
