// The keys `strategy` and `fsdp`: what is reduced, or gathered and reduced, together.
#include <fmt/core.h>

#include "sim/text/scenario_reader.hpp"
#include "sim/trace/forward_ends.hpp"

namespace ddpsim {
namespace {

using config::Value;

// Where `key` stands in the section `name`, if it does.
const SourceSpan* find_place(const Value& root, std::string_view name, std::string_view key) {
  const auto* section = root.find(name);
  const auto* entry = section ? section->value.find(key) : nullptr;
  return entry ? &entry->value.span : nullptr;
}

// Contradictions between the ddp options are found without their place: the option named is the best place,
// then the section.
ReductionPlan make_plan_at(const Value& root, const LayerTrace& trace, Strategy strategy,
                           const DdpOptions& options) {
  try {
    return make_reduction_plan(trace, strategy, options);
  } catch (const InputError& error) {
    for (const char* section : {"ddp", "workload"})
      if (const auto* place = find_place(root, section, error.subject())) throw error.at(*place);
    throw error.at(root.find(root.find("ddp") ? "ddp" : "workload")->key_span);
  }
}

// Of `ddp`, sharded strategies have accumulation only.
void note_unused_ddp_keys(const Value& root, Strategy strategy, std::vector<Note>& notes) {
  const auto* ddp = root.find("ddp");
  if (!ddp) return;
  std::string unused;
  for (const auto& entry : ddp->value.entries)
    if (entry.key != "accumulation_steps") unused += (unused.empty() ? "ddp." : ", ddp.") + entry.key;
  if (!unused.empty())
    notes.push_back(
        {"ddp-unused", fmt::format("strategy {} does without {}", strategy_name(strategy), unused)});
}

}  // namespace

void ScenarioReader::read_strategy(const Value& root, Strategy strategy, const Value* fsdp,
                                   const DdpOptions& options, Scenario& scenario) {
  scenario.ddp = options;
  const auto* groups = root.find("cluster")->value.find("groups");
  if (scenario.model_step && groups && groups->value.find("tensor_parallel"))
    throw InputError(
        groups->value.span, "every GPU would compute the whole model",
        "tensor-parallel groups take the trace of one shard; of a model they are not simulated yet");
  if (fsdp && !is_sharded(strategy)) {
    read_fsdp_section(fsdp, DType::bfloat16);
    scenario.notes.push_back(
        {"fsdp-unused", fmt::format("strategy {} does without the section 'fsdp'", strategy_name(strategy))});
  }
  if (!is_sharded(strategy)) {
    scenario.plan = make_plan_at(root, *scenario.trace, strategy, options);
    return;
  }
  const auto& place = root.find("strategy")->value.span;
  note_unused_ddp_keys(root, strategy, scenario.notes);
  if (scenario.measured_table)
    throw InputError(place, "a measured table knows all-reduces, and a sharded strategy has none",
                     "use another algorithm than measured");
  if (!options.unused_parameters.empty())
    throw InputError(place, "unused parameters are DistributedDataParallel's",
                     "remove workload.unused_parameters");
  for (const auto& group : scenario.groups)
    if (group.ranks != scenario.groups.front().ranks)
      throw InputError(place, "groups of different sizes would hold different shards",
                       "make the groups equal");
  if (const auto& communication = scenario.communication; communication && communication->nccl.empty() &&
                                                          !communication->gloo &&
                                                          communication->options.algorithm != Algorithm::ring)
    scenario.notes.push_back(
        {"rings-only", "all-gathers and reduce-scatters are rings whatever collective.algorithm says"});
  auto computed_in = scenario.trace->gradients.front().dtype;
  if (scenario.model_step && activation_bytes(scenario.model_step->step.precision) == 2)
    computed_in =
        scenario.model_step->step.precision == Precision::float16 ? DType::float16 : DType::bfloat16;
  auto plan = make_fsdp_plan(*scenario.trace, strategy, read_fsdp_section(fsdp, computed_in));
  bool is_one_unit = plan.units.size() == 1;
  scenario.sharded = std::make_shared<const ShardedPlan>(std::move(plan));
  scenario.plan = reduction_plan(*scenario.trace, *scenario.sharded, options.accumulation_steps);
  if (auto note = forward_ends(*scenario.trace).note) scenario.notes.push_back(std::move(*note));
  if (is_one_unit)
    scenario.notes.push_back(
        {"one-unit",
         "no gradient's name has a number that would tell blocks apart: all parameters are one unit, "
         "and nothing overlaps"});
}

}  // namespace ddpsim
