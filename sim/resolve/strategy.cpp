// The key `strategy`: what is reduced, or gathered and reduced, together.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "sim/resolve/plausibility.hpp"
#include "sim/resolve/sections.hpp"
#include "sim/trace/forward_ends.hpp"
#include "sim/trace/parameter_shapes.hpp"
#include "sim/trace/recorded_step.hpp"

namespace ddpsim {
namespace {

struct StrategyFileKey {
  using Value = std::shared_ptr<const LoadedText>;
  std::string path;
  auto operator<=>(const StrategyFileKey&) const = default;
};

// Its ranks are one communicator, which does one thing at a time.
void check_measured(const StrategyChoice& choice, const MeasuredTable& table, const SourceSpan& place) {
  const auto& strategy = *choice.strategy;
  const char* hint = "use another algorithm than measured";
  auto uses = strategy.communicators(choice);
  bool joins_all = std::ranges::none_of(
      uses, [](const auto& use) { return use.joined == Joined::sets || use.joined == Joined::listed; });
  if (!strategy.traits.is_of_alike_ranks() || !joins_all)
    throw InputError(place,
                     fmt::format("a measured table is of all ranks together, and strategy {} communicates "
                                 "otherwise",
                                 strategy.name()),
                     hint);
  if (uses.size() > 1)
    throw InputError(place, "a measured table says nothing of two collectives at once",
                     "use one communicator, or another algorithm than measured");
  for (auto operation : uses.front().operations)
    if (!table.has(operation))
      throw InputError(place,
                       fmt::format("strategy {} does {}s, and the measured table has none", strategy.name(),
                                   operation_words(operation)),
                       fmt::format("add rows of operation {}, or use another algorithm than measured",
                                   operation_name(operation)));
}

// What the model says that is computed, or that the trace's header names.
void take_known_model(const Scenario& scenario, DdpOptions& options) {
  if (options.comm_hook != CommHook::power_sgd && !options.compiled) return;
  const auto& trace = *scenario.trace;
  const Transformer* model = scenario.model_step ? &scenario.model_step->model : nullptr;
  if (!model && trace.metadata.model) model = find_transformer(*trace.metadata.model);
  if (!model) return;
  options.parameter_rows = parameter_rows(trace, *model);
  bool has_head = std::ranges::any_of(
      trace.gradients, [](const Gradient& gradient) { return gradient.name == "lm_head.weight"; });
  if (model->tied && !options.parameter_rows.empty() && !has_head)
    options.tied_head = Bytes(static_cast<double>(model->vocab * model->hidden) *
                              bytes_per_element(trace.gradients.front().dtype));
}

// What no sharded strategy, nor any with a centre, does.
void check_otherwise(const GivenJob& given, const DdpOptions& options, const Scenario& scenario) {
  const auto& place = given.at("strategy");
  if (!options.unused_parameters.empty())
    throw InputError(place, "unused parameters are DistributedDataParallel's",
                     "remove workload.unused_parameters");
  const auto& traits = given.job.strategy->traits;
  if ((traits.is_one_process || traits.has_servers) && given.has("workload.frozen"))
    throw InputError(given.at("workload.frozen"),
                     fmt::format("strategy {} with frozen modules is not simulated", traits.name),
                     "use another one, like ddp");
  for (const auto& group : scenario.groups)
    if (!given.job.strategy->traits.has_servers && group.ranks != scenario.groups.front().ranks)
      throw InputError(place, "groups of different sizes would hold different shards",
                       "make the groups equal");
}

void note_rings(Scenario& scenario) {
  const auto& communication = scenario.communication;
  if (scenario.is(&StrategyTraits::is_sharded) && communication && communication->nccl.empty() &&
      !communication->library && communication->options.algorithm != Algorithm::ring)
    scenario.notes.push_back(
        {"rings-only", "all-gathers and reduce-scatters are rings whatever collective.algorithm says"});
}

}  // namespace

const SourceSpan& place_of_plan_error(const GivenJob& given, const InputError& error) {
  const auto& key = error.subject();
  if (given.has(key) || key.find('.') != std::string::npos) return given.at(key);
  for (const char* section : {"ddp", "workload"})
    if (auto path = fmt::format("{}.{}", section, key); given.has(path)) return given.at(path);
  return given.places.key_at(given.has("ddp") ? "ddp" : "workload");
}

StrategyChoice choice_of(Files& files, const GivenJob& given, const DdpOptions& ddp,
                         const Scenario& scenario) {
  auto computed = scenario.trace->gradients.front().dtype;
  if (scenario.model_step && activation_bytes(scenario.model_step->step.precision) == 2)
    computed = scenario.model_step->step.precision == Precision::float16 ? DType::float16 : DType::bfloat16;
  auto choice = given.job.choice(computed);
  choice.ddp = ddp;
  for (const auto& step : scenario.trace->steps) choice.recordings.push_back(step->recording);
  if (scenario.model_step) choice.architecture = scenario.model_step->gpu.architecture;
  if (const auto& file = given.job.strategy.file; choice.strategy->traits.is_of_file) {
    auto name = choice.strategy->name();
    auto path = files.path_of(given.located(file, fmt::format("strategy.{}", name)));
    choice.file = files.once(StrategyFileKey{path}, [&] {
      return std::make_shared<const LoadedText>(load_text(path, fmt::format("a {}", name)));
    });
  }
  return choice;
}

void plan_strategy(const GivenJob& given, StrategyChoice choice, Scenario& scenario) {
  const auto& strategy = *choice.strategy;
  auto& options = choice.ddp;
  if (strategy.traits.is_ddp) take_known_model(scenario, options);
  scenario.ddp = options;
  if (scenario.model_step && given.has("cluster.groups.tensor_parallel"))
    throw InputError(
        given.at("cluster.groups"), "every GPU would compute the whole model",
        "tensor-parallel groups take the trace of one shard; of a model they are not simulated yet");
  if (scenario.measured_table)
    check_measured(choice, *scenario.measured_table,
                   given.at(given.has("strategy") ? "strategy" : "collective"));
  if (!strategy.traits.all_reduces) check_otherwise(given, options, scenario);
  note_rings(scenario);
  const auto* communication = scenario.communication.get();
  if (strategy.traits.shards_within_groups && communication)
    choice.shards = static_cast<int>(communication->groups.front().size());
  PlanInput input{.choice = choice,
                  .trace = *scenario.trace,
                  .ranks = scenario.groups.front().ranks,
                  .host = scenario.host,
                  .step = scenario.model_step.get(),
                  .communication = communication};
  input.world_size = std::accumulate(scenario.groups.begin(), scenario.groups.end(), 0,
                                     [](int sum, const RankGroup& group) { return sum + group.ranks; });
  try {
    auto plan = strategy.plan(input);
    scenario.plan = plan->reductions(input.trace, options.accumulation_steps);
    std::ranges::move(plan->notes(input), std::back_inserter(scenario.notes));
    if (auto note = forward_ends(input.trace).note; note && plan->needs_forward_ends())
      scenario.notes.push_back(std::move(*note));
    if (input.trace.registration_guessed && plan->follows_registration())
      scenario.notes.push_back(registration_guessed_note());
    if (!strategy.traits.all_reduces) scenario.strategy_plan = std::move(plan);
  } catch (const InputError& error) {
    throw error.at(place_of_plan_error(given, error));
  }
}

}  // namespace ddpsim
