#pragma once
// What of a block is ready when, and how much of it one GPU of a tensor-parallel group has.
#include <cstdint>
#include <vector>

#include "sim/compute/transformer_times.hpp"
#include "sim/model/transformer_modules.hpp"

namespace ddpsim {

// When each module of a block is over, forward and backward, from the start of the pass over the block.
struct BlockSchedule {
  std::vector<Seconds> forward_end, backward_end;  // by module, in forward order
};
// By module, in forward order.
std::vector<BlockStage> stages_of(const TransformerPart& block);

BlockSchedule block_schedule(const TransformerPart& block, const BlockTimes& times);

// Of a tensor on one GPU of a tensor-parallel group: matrices are cut, by column with their biases or by row
// without, the vocabulary by rows; norms and positions are whole on every GPU.
std::int64_t elements_of_shard(const TransformerModule& module, const ParameterTensor& tensor,
                               std::int64_t vocabulary_rows, int gpus);

}  // namespace ddpsim
