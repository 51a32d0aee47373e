#pragma once
// Peak memory of a GPU in a transformer's training step: docs/model.md, "Memory".
#include <string_view>
#include <vector>

#include "sim/compute/transformer_times.hpp"

namespace ddpsim {

// Bytes of each parameter that a GPU holds, before anything is sharded.
struct StateBytes {
  double weights = 4, gradients = 4;
  double optimizer = 8;  // two moments; 12 with a float32 copy of 16-bit weights
  double step_copy = 0;  // exists during the optimizer's step only; sharded as the optimizer is
  double casts = 0;      // of weights, by autocast, from the forward to the end of the backward pass
  bool operator==(const StateBytes&) const = default;
};

// Which states are divided by the data-parallel ranks: nothing; the optimizer; and gradients; and weights
// (Rajbhandari et al., "ZeRO", arXiv 1910.02054, stages 1 to 3).
enum class Sharding { none, optimizer, gradients, weights };

// Of the parameters that a GPU holds, those that have gradients and states of an optimizer.
struct TrainedParameters {
  double common = 1, experts = 1;  // the latter of experts that ranks share; else they are among the former
};

struct MemorySetup {
  StateBytes state = {};
  Sharding sharding = Sharding::none;
  int shards = 1;               // ranks that share what is sharded
  int expert_shards = 1;        // likewise of experts, where ranks have a share of them each
  bool gathers_units = true;    // sharded weights are gathered, and their gradients reduced, a unit at a time
  double unit_gradient = 4;     // bytes of an unreduced gradient of such a unit
  double unit_layers = 1;       // layers of the largest one
  Bytes buckets = {};           // communication buffers besides units
  bool keeps_gradients = true;  // from step to step; else each is there from its backward pass to the step
  TrainedParameters trained = {};
  MemoryUse use = {};
  Bytes workspaces = {};       // of matrix products, from the allocator
  int communicators = 0;       // of NCCL's that a rank is in
  bool float8_inputs = false;  // Transformer Engine keeps of a matrix's input what it multiplies
  bool flash = true;           // scores are never kept
  bool repeats_keys = false;   // ranks that share sequences exchange keys and values of all heads
};

// A stage of a pipeline; without one, all of the model.
struct PipelineStage {
  // Of a kind, and how many of them are computed again.
  struct Blocks {
    BlockKind kind;
    std::int64_t count = 0, recomputed = 0;
  };
  std::vector<Blocks> blocks = {};     // each kind once
  double micro_batches_in_flight = 1;  // of all its layers
  bool is_first = true, is_last = true;

  // Of which the first `recomputed` are computed again.
  void add(const std::vector<BlockKind>& kinds, std::int64_t recomputed);
  [[nodiscard]] std::int64_t layers() const;
  [[nodiscard]] std::int64_t recomputed() const;
};

// At a step's peak.
struct MemoryParts {
  Bytes parameters, gradients, optimizer, activations, buckets, workspaces;
  Bytes other;  // reserved and not handed out; outside the allocator
  // As torch.cuda.max_memory_allocated counts.
  [[nodiscard]] Bytes allocated() const {
    return parameters + gradients + optimizer + activations + buckets + workspaces;
  }
  // As nvidia-smi does.
  [[nodiscard]] Bytes peak() const { return allocated() + other; }
  bool operator==(const MemoryParts&) const = default;
};

// Of sharded weights and their gradients, beside shards: at the loss, in the backward pass of a block, at its
// end.
struct GatheredUnits {
  Bytes loss, backward, end;
};

// What a stage holds, and when.
struct StageMemory {
  MemoryParts always;
  Bytes casts;      // of weights, from the forward to the end of the backward pass
  Bytes gradients;  // where they come as activations go
  Bytes kept;       // by all blocks, of a micro-batch, from its forward to its backward pass
  Bytes worked;     // in a block's backward pass
  Bytes loss;
  GatheredUnits units;
  Bytes outside;  // of the allocator
  double fragmentation = 1;
  // The most of: the loss; the backward pass of the last block; its end, when all gradients are there.
  [[nodiscard]] MemoryParts peak(double micro_batches_in_flight) const;
};
StageMemory stage_memory(const Transformer& model, const StepShape& shape, int activation_bytes,
                         const MemorySetup& setup, const PipelineStage& stage);
inline MemoryParts memory_of(const Transformer& model, const StepShape& shape, int activation_bytes,
                             const MemorySetup& setup, const PipelineStage& stage) {
  return stage_memory(model, shape, activation_bytes, setup, stage).peak(stage.micro_batches_in_flight);
}

// Of a process that is in so many of NCCL's communicators, besides what its allocator reserves.
Bytes outside_allocator(const MemoryUse& use, int communicators);

// What cuBLAS allocates by PyTorch's setting for the forward and for the backward thread, and Transformer
// Engine, for one product and, of experts, for four at a time: 32 MiB each from Hopper on (torch/aten/src/
// ATen/cuda/CublasHandlePool.cpp; transformer_engine/pytorch/module/base.py, get_workspace).
Bytes product_workspaces(std::string_view architecture, bool transformer_engine, bool has_experts);

// Below this share of a GPU's memory a step is said to fit: none of 302 published steps of dense models,
// which ran, is estimated above it, and the estimate misses by 2 % on average (docs/accuracy.md, "Memory").
inline constexpr double kFittingShare = 0.95;
enum class Fit { yes, maybe, no };
constexpr Fit fit_of(Bytes peak, Bytes capacity) {
  if (peak > capacity) return Fit::no;
  return peak > capacity * kFittingShare ? Fit::maybe : Fit::yes;
}

}  // namespace ddpsim
