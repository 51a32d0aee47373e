#include "sim/compute/model_step.hpp"

namespace ddpsim {

PipelineStage ModelStep::whole() const {
  PipelineStage all;
  all.add(model.kinds_of(0, model.layers), step.shape.recomputed);
  return all;
}

StageMemory ModelStep::memory(const HeldStates& states, const PipelineStage& stage) const {
  auto held = states.state.value_or(state);
  // Shards are kept in the gradients' type; what is computed with is gathered, and counted with the units.
  if (states.sharding == Sharding::weights && !states.state) {
    held.weights = static_cast<double>(bytes_per_element(step.gradients));
    held.casts = 0;
  }
  if (states.on_host) held = {0, 0, 0, 0, 0};
  MemorySetup setup{
      .state = held,
      .sharding = states.sharding,
      .shards = states.shards,
      .expert_shards = states.expert_shards,
      .gathers_units = !states.state,
      .unit_gradient = static_cast<double>(bytes_per_element(step.gradients)),
      .unit_layers = states.unit_layers,
      .buckets = states.buckets + states.buffers,
      .keeps_gradients = states.keeps_gradients,
      .trained = states.trained,
      .use = software.memory_use,
      .workspaces =
          product_workspaces(gpu.architecture, software.memory_use.transformer_engine, model.has_experts()),
      .communicators = states.communicators,
      .float8_inputs = step.precision == Precision::float8 && software.memory_use.transformer_engine,
      .flash = software.flash,
      .repeats_keys = software.repeats_keys};
  return stage_memory(model, step.shape, activation_bytes(step.precision), setup, stage);
}

StateBytes state_bytes(const TransformerStep& step) {
  double gradient = bytes_per_element(step.gradients);
  double cast = gradient >= 4 && activation_bytes(step.precision) < 4 ? 2 : 0;
  return {gradient, gradient, step.optimizer.state_bytes(gradient), 0, cast};
}

StateBytes mixed_precision_state(DType parameters, DType gradients, const Optimizer& optimizer) {
  double weights = bytes_per_element(parameters);
  return {weights, static_cast<double>(bytes_per_element(gradients)), optimizer.state_bytes(weights), 0};
}

}  // namespace ddpsim
