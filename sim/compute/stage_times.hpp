#pragma once
// What one stage of a pipeline computes of a transformer.
#include <vector>

#include "sim/compute/training.hpp"

namespace ddpsim {

struct StageLayers {
  std::vector<BlockKind> kinds = {};  // by block
  Ends ends = {};
  bool shares_table = false;                 // the head's matrix is that of the embedding on the same rank
  std::int64_t recomputed = kAllBlocks;      // the first of them
  std::vector<BlockTraining> training = {};  // by block; empty: all of each is trained
  bool trains_embedding = true, trains_head = true;
  [[nodiscard]] std::int64_t layers() const { return static_cast<std::int64_t>(kinds.size()); }
  // Whether two of its blocks take as long.
  [[nodiscard]] bool is_alike(std::int64_t a, std::int64_t b) const;
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
// Of what is trained of a model, that of a stage from block `first` on.
void set_training(const ModelTraining& training, std::int64_t first, StageLayers& stage);
// Those ends that a backward pass reaches, and what they take with what is trained, without what they
// communicate.
Ends reached_ends(const StageLayers& stage);
EndTimes trained_ends(const TransformerTimes& times, const StageLayers& stage);
// One block of it, by its place in the stage; a block that the backward pass does not reach has none.
BlockTimes block_times(const TransformerTimes& times, const StageLayers& stage, std::int64_t block);
PipelineStageTimes stage_times(const TransformerTimes& times, const StageLayers& stage);

}  // namespace ddpsim
