#pragma once
// What one stage of a pipeline computes of a transformer, and the parameters it holds.
#include <array>
#include <map>
#include <vector>

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

// A tensor of a GPU, in the order in which a backward pass is through with them: head, blocks from the last,
// embeddings. `end`: the share of the pass after which it is.
struct StagePart {
  double end = 1;
  double parameters = 0;  // but experts
  double experts = 0;
  bool ends_unit = true;  // the last of the head, of a block, of the embeddings
  bool of_ends = false;   // of head or embeddings
};
class StageParts {
 public:
  StageParts(const Transformer& model, const TransformerTimes& times, const StepShape& shape);
  [[nodiscard]] std::vector<StagePart> of(const StageLayers& stage) const;

 private:
  struct Block {
    std::vector<StagePart> parts;  // from the start of its backward pass, in seconds
    Seconds time;
  };
  const Transformer& model_;
  const TransformerTimes& times_;
  const StepShape& shape_;
  std::map<BlockKind, std::array<Block, 2>> blocks_;  // those that are computed again, and those that are not
};

}  // namespace ddpsim
