#include "sim/study/scenario_metrics.hpp"

#include <map>
#include <tuple>

namespace ddpsim {
namespace {

CollectiveChoice nccl_choice(const Scenario& scenario, std::size_t group, Operation operation, Bytes bytes) {
  const auto& model = *scenario.communication->nccl[group];
  auto choice = model.choose(bytes, operation);
  return {nccl::name(choice.candidate->algorithm), nccl::name(choice.candidate->protocol), choice.channels,
          model.cost(operation).source_of(*choice.candidate, bytes)};
}

}  // namespace

namespace {

SharedModelMetrics shared_model_of(const ParallelStep& step) {
  const auto& degrees = step.options.degrees;
  const auto& shape = step.options.shape;
  SharedModelMetrics metrics{degrees.tensor,
                             degrees.pipeline,
                             degrees.data,
                             degrees.context,
                             std::string(name_in(kPipelineScheduleNames, shape.schedule)),
                             shape.chunks,
                             shape.micro_batches,
                             {}};
  metrics.expert = degrees.expert.ranks;
  metrics.expert_load = degrees.expert.load;
  for (const auto& stage : step.stages) metrics.stages.push_back({stage.layers, stage.memory()});
  return metrics;
}

// Exposed: what the passes take longer by all of an axis, by each one's share of their time.
class WithinPasses {
 public:
  WithinPasses(const char* axis, Seconds busy, Seconds exposed, std::vector<OperationMetrics>& all)
      : axis_(axis), exposed_(busy > Seconds() ? exposed / busy : 0), all_(all) {}
  void operator()(Operation operation, int count, Bytes bytes, Seconds busy) {
    if (count > 0)
      all_.push_back({axis_, operation, static_cast<std::size_t>(count), bytes, busy, exposed_ * busy});
  }

 private:
  const char* axis_;
  double exposed_;
  std::vector<OperationMetrics>& all_;
};

void add_tensor(const ParallelStep& step, const TensorPass& pass, std::vector<OperationMetrics>& all) {
  WithinPasses add("tensor", pass.busy, pass.exposed, all);
  const auto& times = step.tensor;
  add(Operation::all_reduce, pass.all_reduces + pass.small,
      pass.all_reduces * step.hidden_values + pass.small * step.small,
      pass.all_reduces * times.all_reduce + pass.small * times.small);
  add(Operation::all_gather, pass.all_gathers, pass.all_gathers * step.hidden_values,
      pass.all_gathers * times.all_gather);
  add(Operation::reduce_scatter, pass.reduce_scatters, pass.reduce_scatters * step.hidden_values,
      pass.reduce_scatters * times.reduce_scatter);
}

void add_context(const ParallelStep& step, const ContextPass& pass, std::vector<OperationMetrics>& all) {
  WithinPasses add("context", pass.busy, pass.exposed, all);
  const auto& times = step.context;
  auto keys_values = step.keys_values, of_all = step.options.degrees.context * keys_values;
  add(Operation::all_gather, pass.all_gathers, pass.all_gathers * of_all,
      pass.all_gathers * times.all_gather);
  add(Operation::reduce_scatter, pass.reduce_scatters, pass.reduce_scatters * of_all,
      pass.reduce_scatters * times.reduce_scatter);
  add(Operation::all_to_all, pass.inputs + pass.outputs,
      pass.inputs * (step.queries + keys_values) + pass.outputs * step.queries,
      pass.inputs * times.inputs + pass.outputs * times.output);
  add(Operation::send_recv, pass.messages + pass.pairs, (pass.messages + 2 * pass.pairs) * keys_values,
      pass.messages * times.keys_values + pass.pairs * times.with_gradients);
}

void add_expert(const ParallelStep& step, const ExpertPass& pass, std::vector<OperationMetrics>& all) {
  WithinPasses add("expert", pass.busy, pass.exposed, all);
  const auto& times = step.expert;
  const auto& bytes = step.expert_bytes;
  int small = pass.probabilities;
  auto tokens = pass.dispatches * bytes.dispatch + pass.combines * bytes.combine;
  auto small_bytes = small * bytes.probabilities, counts = pass.counts * bytes.counts;
  auto of_small = small * times.probabilities, of_counts = pass.counts * times.counts;
  WithinPasses add_gathered("expert-tensor", pass.busy, pass.exposed, all);
  add_gathered(Operation::all_gather, pass.gathers, pass.gathers * bytes.gathered,
               pass.gathers * times.gather);
  add_gathered(Operation::reduce_scatter, pass.gathers, pass.gathers * bytes.gathered,
               pass.gathers * times.scatter);
  if (step.options.degrees.expert.dispatcher != Dispatcher::all_gather) {
    add(Operation::all_gather, pass.counts, counts, of_counts);
    add(Operation::all_to_all, pass.dispatches + pass.combines + small, tokens + small_bytes,
        pass.dispatches * times.dispatch + pass.combines * times.combine + of_small);
    return;
  }
  // Backward the gradients of what was reduced are gathered, and the other way round: as many of either.
  add(Operation::all_gather, pass.dispatches + small + pass.counts,
      pass.dispatches * bytes.dispatch + small_bytes + counts,
      pass.dispatches * times.dispatch + of_small + of_counts);
  add(Operation::reduce_scatter, pass.combines, pass.combines * bytes.combine, pass.combines * times.combine);
}

void set_shared_model(const Scenario& scenario, IterationContext& context) {
  context.shared_model = shared_model_of(*scenario.parallel);
  for (const auto& stage : scenario.parallel->stages) {
    auto& all = context.within_passes.emplace_back();
    add_tensor(*scenario.parallel, stage.tensor, all);
    add_context(*scenario.parallel, stage.context, all);
    add_expert(*scenario.parallel, stage.expert, all);
  }
}

}  // namespace

IterationContext context_of(const Scenario& scenario) {
  IterationContext context{*scenario.trace,
                           scenario.plan,
                           scenario.world_size,
                           scenario.algorithm(),
                           std::string(fidelity_name(scenario.fidelity)),
                           scenario.collective_workers};
  context.is_asynchronous = scenario.is_asynchronous();
  if (scenario.strategy) context.strategy = scenario.strategy;
  if (const auto* communication = scenario.communication.get();
      communication && !scenario.has_stages() &&
      (communication->axes.size() > 1 || communication->groups.size() > scenario.groups.size()))
    for (const auto& axis : communication->axes)
      context.communicators.push_back(
          {axis.name, static_cast<int>(communication->groups[axis.first].size())});
  if (scenario.communication && !scenario.communication->nccl.empty())
    context.choice = [&scenario,
                      known = std::map<std::tuple<std::size_t, Operation, Bytes>, CollectiveChoice>()](
                         std::size_t group, Operation operation, Bytes bytes) mutable {
      auto [it, is_new] = known.try_emplace({group, operation, bytes});
      if (is_new) it->second = nccl_choice(scenario, group, operation, bytes);
      return it->second;
    };
  context.has_stages = scenario.has_stages();
  if (context.has_stages)
    context.axis_of_group = [communication = scenario.communication](std::size_t group) {
      return CommunicatorRanks{communication->axis_of(group).name,
                               static_cast<int>(communication->groups[group].size())};
    };
  if (scenario.parallel) set_shared_model(scenario, context);
  return context;
}

IterationMetrics metrics_of(const Scenario& scenario, const Prediction& prediction) {
  auto context = context_of(scenario);
  auto metrics = measure(prediction.timeline, context);
  metrics.network = scenario.network_name();
  if (scenario.communication && !scenario.communication->nccl.empty())
    metrics.nccl_version = nccl::name(scenario.communication->nccl.front()->cost().communicator().version);
  metrics.simulated_flows = prediction.simulated_flows;
  metrics.price = scenario.price;
  metrics.training_tokens = scenario.training_tokens;
  if (scenario.failures) metrics.goodput = goodput_of(*scenario.failures, metrics.gpus());
  if (const auto& step = scenario.model_step) {
    double rate = scenario.plan.accumulation_steps / metrics.iteration.value();
    if (scenario.parallel) rate /= scenario.parallel->options.degrees.of_a_model();
    const auto& work = step->work;
    metrics.compute = {
        FlopsPerSecond(work.model.value() * rate),
        FlopsPerSecond((work.model + scenario.recomputed_share() * work.recomputed).value() * rate),
        work.peak};
    auto sequence = step->step.shape.sequence;
    metrics.model = {step->model.parameters(sequence), step->model.active_parameters(sequence)};
  }
  if (auto held = scenario.memory()) {
    const auto& gpu = scenario.gpu_of_law();
    metrics.memory = {*held, gpu.memory, gpu.name, scenario.memory_of_others()};
  }
  if (scenario.sampled)
    metrics.spread = spread_of(prediction.iterations, prediction.unvaried, *scenario.sampled);
  return metrics;
}

}  // namespace ddpsim
