#include "sim/cli/validate_plan.hpp"

#include <algorithm>
#include <filesystem>

#include "validate/comparison/replay.hpp"
#include "validate/comparison/training.hpp"
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/limits.hpp"
#include "sim/base/output_file.hpp"
#include "sim/cli/temporary_folder.hpp"
#include "sim/config/overrides.hpp"
#include "sim/config/reader.hpp"

namespace ddpsim::cli {
namespace {

// A collective may have to wait for all of a step's compute on another rank.
Seconds longest_compute(const std::vector<validate::Step>& steps) {
  Seconds longest;
  for (const auto& step : steps) {
    Seconds computes;
    for (const auto& op : step.program.ops) computes += op.duration;
    longest = std::max(longest, computes);
  }
  return longest;
}

// As if --set had said it, but that nothing in a path means anything.
void set_path(config::Value& root, const std::string& key, const std::string& path) {
  SourceSpan place{make_source("--set", path, true), 1, 1, 1};
  config::set_at(root, key, config::scalar_value(std::filesystem::absolute(path).string(), place), place);
}

// Of a simulated cluster only.
void refuse_cluster_keys(const config::Value& root) {
  for (const char* key : {"groups", "overrides", "background"})
    if (const auto* value = config::find_at(root, fmt::format("cluster.{}", key)))
      throw InputError(value->span, fmt::format("a real run knows nothing of cluster.{}", key),
                       "remove it, or compare with measured iterations (--measured FILE)");
}

// The scenario's collectives are NCCL's, or nobody's, and Gloo takes their place: one at a time.
bool is_replaced_by_gloo(const config::Value& root) {
  auto is = [&](const char* section, std::string_view backend) {
    const auto* value = config::find_at(root, fmt::format("{}.backend", section));
    return value && value->scalar == backend;
  };
  return !is("validation", "nccl") && !is("collective", "gloo");
}

// Whether it is validation.ranks or the cluster's own.
int read_world_size(const config::Value& root) {
  const auto* ranks = config::find_at(root, "validation.ranks");
  if (!ranks) ranks = config::find_at(root, "cluster.world_size");
  if (!ranks)
    throw InputError(root.span, "does not say how many ranks are to run",
                     "set validation.ranks, or --ranks N");
  return static_cast<int>(config::as_integer(2, kLargestWorldSize)(*ranks));
}

// What would make points differ in more than real ranks can do.
void refuse_axes(const config::Value& root) {
  const auto* sweep = root.find("sweep");
  if (!sweep) return;
  for (const auto& axis : sweep->value.entries)
    for (const char* section : {"cluster.", "collective.", "engine.", "workload."})
      if (axis.key.starts_with(section))
        throw InputError(
            axis.key_span,
            fmt::format(
                "'{}' cannot be swept in a real run, whose model, ranks and collectives are those there are",
                axis.key),
            fmt::format("remove the axis (--set {}=VALUE does), or compare with measured iterations "
                        "(--measured FILE)",
                        axis.key));
}

// Whose ranks communicate in several groups, or with servers.
void refuse_strategy(const config::Value& root) {
  const auto* strategy = root.find("strategy");
  const auto* known = strategy ? find_strategy(strategy->value.scalar) : nullptr;
  if (known && !known->traits.is_of_alike_ranks())
    throw InputError(
        strategy->value.span,
        fmt::format("the ranks of a real run are one group, and strategy {} communicates otherwise",
                    strategy->value.scalar),
        "'ddpsim simulate' predicts it; compare with a measured step by 'ddpsim calibrate --step'");
}

void refuse_backend(const config::Value& root) {
  const auto* backend = config::find_at(root, "collective.backend");
  const auto* known =
      backend ? std::ranges::find(kBackends, backend->scalar, &BackendTraits::name) : kBackends.end();
  if (known == kBackends.end() || !known->runs_on.empty()) return;
  throw InputError(backend->span, fmt::format("no real run communicates with {}", known->words),
                   "use backend: nccl or gloo; 'ddpsim list backends' says what each runs");
}

}  // namespace

RealScenario::RealScenario(const ValidateOptions& options)
    : file_(options.scenario.file), root_(options.load()), timeout_(options.timeout) {
  world_size_ = read_world_size(root_);
  config::apply_override(root_, fmt::format("cluster.world_size={}", world_size_));
  refuse_axes(root_);
  refuse_cluster_keys(root_);
  refuse_strategy(root_);
  refuse_backend(root_);
  // Buckets and launches do not depend on what collectives take, and nothing is predicted from this table:
  // the one that is comes from the calibration.
  TemporaryFolder folder;
  auto placeholder = folder.file("all-reduces.csv");
  write_whole_file(placeholder,
                   fmt::format("# ddpsim-allreduce: 1\n# world_size: {}\noperation,bytes,time_s\n"
                               "all_reduce,4,1\nall_gather,4,1\nreduce_scatter,4,1\n",
                               world_size_));
  points_ = with_table(placeholder);
  for (const auto& scenario : points_.scenarios) validate::check_can_be_real(scenario);
  if (first().collective_workers > 1 && first().validation.backend != Backend::gloo)
    throw InputError("NCCL's collectives run one after the other, and the scenario's several at once",
                     "remove collective.backend, or use --backend gloo");
  if (first().validation.compute != RealCompute::model) return;
  if (first().validation.backend != Backend::gloo)
    throw InputError("compute: model trains on the CPU, with backend gloo",
                     "use compute: replay with backend nccl");
  if (const auto* rescale = config::find_at(root_, "workload.rescale"))
    throw InputError(rescale->span, "a model that is really trained takes the time it takes",
                     "remove workload.rescale, or use compute: replay");
  for (const auto& scenario : points_.scenarios) model_ = validate::trained_model(scenario);
}

SweepPlan RealScenario::with_table(const std::string& path, const std::string& trace) const {
  auto root = root_;
  config::apply_override(root, "collective={algorithm: measured}");
  if (is_replaced_by_gloo(root_))
    config::apply_override(root, "collective={algorithm: measured, backend: gloo, workers: 1}");
  else
    for (const char* key : {"backend", "workers"})
      if (const auto* value = config::find_at(root_, fmt::format("collective.{}", key)))
        config::set_at(root, fmt::format("collective.{}", key), *value, value->span);
  set_path(root, "collective.measured", path);
  config::apply_override(root, "engine={fidelity: auto}");
  config::apply_override(root, "spread=none");  // ranks replay what the trace says
  if (!trace.empty()) set_path(root, "workload.trace", trace);
  auto axes = config::take_sweep_axes(root);
  Files files(file_);
  return expanded(plan_grid(root, axes, files));
}

std::vector<Message> RealScenario::messages() const {
  std::vector<Message> messages;
  for (const auto& scenario : points_.scenarios) {
    auto of_point = messages_of(scenario);
    messages.insert(messages.end(), of_point.begin(), of_point.end());
  }
  return messages;
}

std::string RealScenario::name_of(std::size_t point) const {
  std::vector<std::string> parts;
  for (std::size_t a = 0; a < points_.axes.size(); ++a)
    parts.push_back(fmt::format("{} = {}", points_.axes[a].key, points_.axis_values[point][a]));
  return parts.empty() ? "the scenario" : fmt::format("{}", fmt::join(parts, ", "));
}

validate::Job RealScenario::job(std::vector<validate::Step> steps) const {
  bool trains =
      std::any_of(steps.begin(), steps.end(), [](const auto& step) { return step.reduction.has_value(); });
  validate::Job job{std::string(backend_name(first().validation.backend)), validate::slowdowns_of(first()),
                    Seconds(timeout_) + largest_slowdown(first().groups) * longest_compute(steps),
                    std::move(steps), trains ? model_ : std::nullopt};
  job.collective_workers = first().collective_workers;
  return job;
}

validate::Job RealScenario::calibration_job(std::vector<validate::Step> steps) const {
  auto calibration = job(std::move(steps));
  calibration.collective_workers = 1;
  return calibration;
}

}  // namespace ddpsim::cli
