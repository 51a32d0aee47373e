#pragma once
// What one stage of a pipeline computes of a transformer.
#include "sim/compute/transformer_times.hpp"

namespace ddpsim {

struct StageLayers {
  std::int64_t layers = 0;
  Ends ends = {};
  std::int64_t with_experts = 0;         // the last of them
  bool shares_table = false;             // the head's matrix is that of the embedding on the same rank
  std::int64_t recomputed = kAllBlocks;  // the first of them
  bool operator==(const StageLayers&) const = default;
};

// A stage's passes for a micro-batch. What a tensor-parallel group communicates is in the times as far as
// nothing hides it.
struct PipelineStageTimes {
  Seconds forward, recompute, input_gradient, weight_gradient;
  TensorPass tensor;  // all of the micro-batch
  ContextPass context;
  ExpertPass expert;
};
PipelineStageTimes stage_times(const TransformerTimes& times, const StageLayers& stage);

}  // namespace ddpsim
