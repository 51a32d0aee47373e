#pragma once
// Peak memory of a GPU in a transformer's training step: docs/model.md, "Memory".
#include <vector>

#include "sim/compute/transformer_times.hpp"

namespace ddpsim {

// Bytes of each parameter that a GPU holds, before anything is sharded.
struct StateBytes {
  double weights = 4, gradients = 4;
  double optimizer = 8;  // two moments; 12 with a float32 copy of 16-bit weights
  double step_copy = 0;  // exists during the optimizer's step only; sharded as the optimizer is
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
  int shards = 1;             // ranks that share what is sharded
  int expert_shards = 1;      // likewise of experts, where ranks have a share of them each
  bool gathers_units = true;  // sharded weights are gathered, and their gradients reduced, a unit at a time
  double unit_gradient = 4;   // bytes of an unreduced gradient of such a unit
  double unit_layers = 1;     // layers of the largest one
  Bytes buckets = {};         // communication buffers besides units
  TrainedParameters trained = {};
  MemoryUse use = {};
  bool flash = true;  // scores are never kept
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

struct MemoryParts {
  Bytes parameters, gradients, optimizer, activations, buckets, other;
  [[nodiscard]] Bytes peak() const {
    return parameters + gradients + optimizer + activations + buckets + other;
  }
  bool operator==(const MemoryParts&) const = default;
};

MemoryParts memory_of(const Transformer& model, const StepShape& shape, int activation_bytes,
                      const MemorySetup& setup, const PipelineStage& stage);

// Below this share of a GPU's memory a step is said to fit: the estimate misses by 5 % on average, and an
// allocator near its limit slows down (docs/model.md, "Memory").
inline constexpr double kFittingShare = 0.88;
enum class Fit { yes, maybe, no };
constexpr Fit fit_of(Bytes peak, Bytes capacity) {
  if (peak > capacity) return Fit::no;
  return peak > capacity * kFittingShare ? Fit::maybe : Fit::yes;
}

}  // namespace ddpsim
