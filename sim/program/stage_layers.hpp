#pragma once
// How the layers of a model are dealt out to the stages of a pipeline.
#include <cstdint>
#include <optional>
#include <vector>

namespace ddpsim {

// As many layers each, but for what is said of the two ends.
struct StageRule {
  // Of the first and the last rank: Megatron-LM's --decoder-first-pipeline-num-layers and -last-.
  std::optional<std::int64_t> first = {}, last = {};
  // The embedding and the loss count as a layer each, of which their stage has one fewer:
  // --account-for-embedding-in-pipeline-split and -loss-.
  bool count_embedding = false, count_loss = false;
};

// By stage that a micro-batch passes: stage s is the chunk s / ranks of rank s % ranks. Throws InputError
// (without a place) where they are not whole, as Megatron-Core does.
std::vector<std::int64_t> split_layers(std::int64_t layers, int ranks, int chunks, const StageRule& rule);

}  // namespace ddpsim
