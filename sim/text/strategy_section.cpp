// The keys `strategy` and `fsdp`: what is reduced, or gathered and reduced, together.
#include <algorithm>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "sim/base/counted.hpp"
#include "sim/base/quantity.hpp"
#include "sim/program/communicators.hpp"
#include "sim/text/plausibility.hpp"
#include "sim/text/scenario_reader.hpp"
#include "sim/text/server_plans.hpp"
#include "sim/text/unused_keys.hpp"
#include "sim/trace/forward_ends.hpp"
#include "sim/trace/parameter_shapes.hpp"

namespace ddpsim {
namespace {

ReductionPlan make_plan_at(const GivenJob& given, const LayerTrace& trace, Strategy strategy,
                           const DdpOptions& options) {
  try {
    return make_reduction_plan(trace, strategy, options);
  } catch (const InputError& error) {
    throw error.at(place_of_plan_error(given, error));
  }
}

// Its ranks are one communicator, which does one thing at a time.
void check_measured(Strategy strategy, const FsdpOptions& fsdp, const MeasuredTable& table,
                    const SourceSpan& place) {
  const char* hint = "use another algorithm than measured";
  if (strategy == Strategy::data_parallel || strategy == Strategy::parameter_server ||
      shards_within_groups(strategy))
    throw InputError(place,
                     fmt::format("a measured table is of all ranks together, and strategy {} communicates "
                                 "otherwise",
                                 strategy_name(strategy)),
                     hint);
  auto uses = communicators_of(strategy, fsdp);
  if (uses.size() > 1)
    throw InputError(place, "a measured table says nothing of two collectives at once",
                     "remove fsdp.communicators, or use another algorithm than measured");
  for (auto operation : uses.front().operations)
    if (!table.has(operation))
      throw InputError(place,
                       fmt::format("strategy {} does {}s, and the measured table has none",
                                   strategy_name(strategy), operation_words(operation)),
                       fmt::format("add rows of operation {}, or use another algorithm than measured",
                                   operation_name(operation)));
}

}  // namespace

namespace {

// Strategies side by side differ in what they reduce in.
void note_dtypes(const BucketedPlan& plan, std::vector<Note>& notes) {
  bool is_megatron = plan.strategy == Strategy::megatron;
  notes.push_back(
      {is_megatron ? "megatron-dtypes" : "zero-dtypes",
       fmt::format(
           "strategy {} holds gradients in {} and reduces them in {}, as {} does by default "
           "or {} says; ddp and fsdp reduce in float32, fsdp1 in what it computes in, unless told otherwise",
           strategy_name(plan.strategy), dtype_name(is_megatron ? plan.reduce_dtype : plan.param_dtype),
           dtype_name(plan.reduce_dtype), is_megatron ? "Megatron" : "DeepSpeed",
           is_megatron ? "megatron.grad_reduce_in_fp32" : "zero.reduce_dtype")});
}

// Of units by name: a matrix that embedding and head share belongs to the root, which is gathered for both.
void note_tied_units(const FsdpPlan& plan, Scenario& scenario) {
  if (!scenario.model_step || !scenario.model_step->model.tied) return;
  const auto& model = scenario.model_step->model;
  for (std::size_t u = 1; u < plan.units.size(); ++u)
    for (auto gradient : plan.units[u].gradients)
      if (scenario.trace->gradients[gradient].elements == model.vocab * model.hidden)
        scenario.notes.push_back(
            {"tied-unit",
             fmt::format("unit {} has the matrix that embedding and head share: here it is gathered "
                         "for the embedding only, and PyTorch wants both in one unit, the root",
                         plan.units[u].name)});
}

// Parameters, gradients and moments of all ranks of a host.
void note_host_memory(Scenario& scenario, double bytes_of_a_parameter) {
  auto bytes =
      scenario.host.ranks * bytes_of_a_parameter * static_cast<double>(total_elements(*scenario.trace));
  scenario.notes.push_back(
      {"host-memory",
       fmt::format("each host keeps {:.1f} GB of what its {} offload{}, and steps {:.3g} parameters a second "
                   "(host.adam_rate); copies take {} (host.copy_bandwidth)",
                   bytes / 1e9, counted(scenario.host.ranks, "GPU"), scenario.host.ranks == 1 ? "s" : "",
                   scenario.host.adam_rate, format_bandwidth(scenario.host.copy_bandwidth))});
}

// `shards`: ranks that hold the model together, where the strategy shards within groups.
StrategyPlan make_strategy_plan(const GivenJob& given, const FsdpOptions& fsdp, int shards,
                                Scenario& scenario) {
  const auto& trace = *scenario.trace;
  auto strategy = given.job.strategy;
  int ranks = scenario.groups.front().ranks;
  auto dtype = computed_in(scenario);
  auto noted = [&](auto plan) -> StrategyPlan {
    plan.host = scenario.host;
    if constexpr (requires { plan.options.offload_optimizer; })
      if (plan.options.offload_optimizer)
        note_host_memory(scenario, (plan.options.offload_param ? 18.0 : 16.0) / ranks);
    note_dtypes(plan, scenario.notes);
    return plan;
  };
  switch (strategy) {
    case Strategy::zero1:
    case Strategy::zero2: {
      auto options = settled(given.job.zero, dtype);
      if (options.offload_param)
        throw InputError(given.at("zero.offload_param"), "only zero3 has parameters that can be offloaded",
                         "remove it, or use strategy: zero3");
      return noted(make_zero_plan(trace, strategy, options, ranks));
    }
    case Strategy::zero3:
      return noted(make_zero3_plan(trace, settled(given.job.zero, dtype), ranks));
    case Strategy::megatron:
      return noted(make_megatron_plan(trace, settled(given.job.megatron, dtype), ranks));
    case Strategy::data_parallel:
      return make_single_process(given, scenario);
    case Strategy::parameter_server:
      return make_server_plan(given.job.parameter_server, scenario);
    default:
      break;
  }
  auto plan = [&] {
    try {
      return make_fsdp_plan(trace, strategy, fsdp, shards, ranks / shards);
    } catch (const InputError& error) {
      throw error.at(given.at("fsdp.units"));
    }
  }();
  note_tied_units(plan, scenario);
  bool is_said = given.job.fsdp.reduced.has_value();
  if (is_fsdp1(strategy) && plan.options.reduce_dtype != DType::float32 && !is_said)
    scenario.notes.push_back(
        {"fsdp1-dtypes",
         fmt::format("strategy {} reduces gradients in {}, as MixedPrecision(param_dtype=...) does and "
                     "fsdp.reduce_dtype may say; ddp and fsdp reduce in float32 unless told otherwise",
                     strategy_name(plan.strategy), dtype_name(plan.options.reduce_dtype))});
  plan.host = scenario.host;
  if (fsdp.cpu_offload)
    note_host_memory(scenario, 4.0 * bytes_per_element(trace.gradients.front().dtype) / shards);
  if (plan.units.size() == 1)
    scenario.notes.push_back(
        {"one-unit",
         "no gradient's name has a number that would tell blocks apart: all parameters are one unit, "
         "and nothing overlaps"});
  return plan;
}

// Megatron's buffer is in that order, DataParallel's pieces, and ZeRO 1's buckets where it reduces after
// backward.
bool is_in_order_of_registration(const StrategyPlan& plan) {
  const auto* zero = std::get_if<ZeroPlan>(&plan);
  return std::holds_alternative<MegatronPlan>(plan) || std::holds_alternative<SingleProcessPlan>(plan) ||
         (zero && zero->strategy == Strategy::zero1 && !zero->overlaps);
}

// The others run no module by itself.
bool needs_forward_ends(const StrategyPlan& plan) {
  const auto* megatron = std::get_if<MegatronPlan>(&plan);
  return megatron ? megatron->options.overlap_param_gather
                  : std::holds_alternative<FsdpPlan>(plan) || std::holds_alternative<Zero3Plan>(plan);
}

// What the model says that is computed, or that the trace's header names.
void take_known_model(const Scenario& scenario, DdpOptions& options) {
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

}  // namespace

const SourceSpan& place_of_plan_error(const GivenJob& given, const InputError& error) {
  for (const char* section : {"ddp", "workload"})
    if (auto path = fmt::format("{}.{}", section, error.subject()); given.has(path)) return given.at(path);
  return given.places.key_at(given.has("ddp") ? "ddp" : "workload");
}

DType computed_in(const Scenario& scenario) {
  if (!scenario.model_step || activation_bytes(scenario.model_step->step.precision) != 2)
    return scenario.trace->gradients.front().dtype;
  return scenario.model_step->step.precision == Precision::float16 ? DType::float16 : DType::bfloat16;
}

// What nobody says is reduced in: FSDP1's MixedPrecision takes the dtype of the parameters (_flat_param.py,
// _init_param_reduce_dtypes), and of fully_shard's users most say float32, as torchtitan does.
FsdpOptions settled(const job::Fsdp& fsdp, Strategy strategy, DType computed) {
  FsdpOptions options = fsdp;
  options.param_dtype = fsdp.gathered.value_or(computed);
  options.reduce_dtype = fsdp.reduced.value_or(is_fsdp1(strategy) ? options.param_dtype : DType::float32);
  return options;
}

ZeroOptions settled(const job::Zero& zero, DType computed) {
  ZeroOptions options = zero;
  options.param_dtype = zero.gathered.value_or(computed);
  return options;
}

MegatronOptions settled(const job::Megatron& megatron, DType computed) {
  MegatronOptions options = megatron;
  options.param_dtype = megatron.gathered.value_or(computed);
  return options;
}

FsdpOptions ScenarioReader::read_fsdp(const GivenJob& given, Scenario& scenario) {
  auto strategy = given.job.strategy;
  if (!counts(given.job, "fsdp")) return {};
  auto options = settled(given.job.fsdp, strategy, computed_in(scenario));
  if (!shards_within_groups(strategy)) options.shard_group.reset();
  return options;
}

void ScenarioReader::read_strategy(const GivenJob& given, const FsdpOptions& fsdp, DdpOptions options,
                                   Scenario& scenario) {
  auto strategy = given.job.strategy;
  if (strategy == Strategy::ddp && (options.comm_hook == CommHook::power_sgd || options.compiled))
    take_known_model(scenario, options);
  scenario.ddp = options;
  if (scenario.model_step && given.has("cluster.groups.tensor_parallel"))
    throw InputError(
        given.at("cluster.groups"), "every GPU would compute the whole model",
        "tensor-parallel groups take the trace of one shard; of a model they are not simulated yet");
  if (scenario.measured_table)
    check_measured(strategy, fsdp, *scenario.measured_table,
                   given.at(given.has("strategy") ? "strategy" : "collective"));
  if (all_reduces(strategy)) {
    scenario.plan = make_plan_at(given, *scenario.trace, strategy, options);
    return;
  }
  const auto& place = given.at("strategy");
  if (!options.unused_parameters.empty())
    throw InputError(place, "unused parameters are DistributedDataParallel's",
                     "remove workload.unused_parameters");
  for (const auto& group : scenario.groups)
    if (strategy != Strategy::parameter_server && group.ranks != scenario.groups.front().ranks)
      throw InputError(place, "groups of different sizes would hold different shards",
                       "make the groups equal");
  if (const auto& communication = scenario.communication;
      is_sharded(strategy) && communication && communication->nccl.empty() && !communication->gloo &&
      communication->options.algorithm != Algorithm::ring)
    scenario.notes.push_back(
        {"rings-only", "all-gathers and reduce-scatters are rings whatever collective.algorithm says"});
  int shards = scenario.groups.front().ranks;
  if (shards_within_groups(strategy))
    shards = scenario.communication ? static_cast<int>(scenario.communication->groups.front().size())
                                    : fsdp.shard_group.value_or(shards);
  scenario.strategy_plan =
      std::make_shared<const StrategyPlan>(make_strategy_plan(given, fsdp, shards, scenario));
  scenario.plan = reduction_plan(*scenario.trace, *scenario.strategy_plan, options.accumulation_steps);
  if (auto note = forward_ends(*scenario.trace).note; note && needs_forward_ends(*scenario.strategy_plan))
    scenario.notes.push_back(std::move(*note));
  if (scenario.trace->registration_guessed && is_in_order_of_registration(*scenario.strategy_plan))
    scenario.notes.push_back(registration_guessed_note());
}

}  // namespace ddpsim
