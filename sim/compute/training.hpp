#pragma once
// What of a transformer is trained where modules are frozen: a frozen matrix has no gradient of its own, and
// a backward pass ends with the first part of the model that has something to train.
#include <array>
#include <vector>

#include "sim/compute/transformer_times.hpp"
#include "sim/model/transformer_modules.hpp"

namespace ddpsim {

struct BlockTraining {
  TrainedShares trained = kAllTrained;
  bool is_reached = true;         // by the backward pass
  std::vector<bool> frozen = {};  // by tensor
  bool operator==(const BlockTraining&) const = default;
};

struct ModelTraining {
  std::vector<BlockTraining> blocks;  // empty: nothing is frozen
  bool trains_embedding = true, trains_head = true;
  // Of what a token meets of the blocks' parameters, and of the blocks.
  double trained = 1, reached = 1;
};
// Of a model's parts, in forward order.
ModelTraining training_of(const Transformer& model, const std::vector<TransformerPart>& parts);

}  // namespace ddpsim
