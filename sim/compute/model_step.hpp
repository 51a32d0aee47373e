#pragma once
// A step of a model that nobody recorded: what is asked for, and what follows from it.
#include <memory>
#include <optional>

#include "sim/compute/memory.hpp"
#include "sim/compute/transformer_trace.hpp"

namespace ddpsim {

// How a strategy spreads what a step holds.
struct HeldStates {
  Sharding sharding = Sharding::none;
  int shards = 1, expert_shards = 1;  // the latter of experts that ranks share
  Bytes buckets = {};      // of gradients, beside them; whatever is gathered for longer than a unit's turn
  Bytes buffers = {};      // allocated once, whatever parts of the model a rank has
  double unit_layers = 1;  // of the largest unit, where weights are sharded
  // What a parameter takes, where the strategy says it; then whatever it gathers is among the buckets.
  std::optional<StateBytes> state = {};
  TrainedParameters trained = {};
  bool keeps_gradients = true;  // from step to step
  int communicators = 0;        // that a rank is in
  bool on_host = false;         // shards of weights, gradients and the optimizer: what is left are units
};

// A model by its sizes, on a GPU with a software.
struct ModelStep {
  Transformer model;
  TransformerStep step;
  Software software;
  GpuDescription gpu;
  StateBytes state;  // of a parameter, by dtype of gradients
  StepWork work;     // of a micro batch

  [[nodiscard]] PipelineStage whole() const;
  [[nodiscard]] MemoryParts memory(const HeldStates& held) const { return memory(held, whole()).peak(1); }
  [[nodiscard]] StageMemory memory(const HeldStates& held, const PipelineStage& stage) const;
};

// How many bytes a parameter takes: 32-bit weights, gradients and two moments, and with 16-bit compute the
// weights' casts besides (autocast keeps them from forward to backward); with 16-bit gradients, weights of as
// many and an optimizer with a float32 copy (Rajbhandari et al., arXiv 1910.02054, section 3.1); what the
// optimizer keeps is as `step` says.
StateBytes state_bytes(const TransformerStep& step);

// Of a model that is held in `parameters` with gradients in `gradients`: from 16 bits the optimizer has a
// float32 copy and, of Adam, two moments, K = 12 of arXiv 1910.02054; else two moments.
StateBytes mixed_precision_state(DType parameters, DType gradients, const Optimizer& optimizer);

}  // namespace ddpsim
