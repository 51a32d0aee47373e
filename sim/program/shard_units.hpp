#pragma once
// What sharded strategies gather and reduce as one: the blocks of a model, alone or several together, and the
// root, which is all that stands in no block.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/trace/layer_trace.hpp"

namespace ddpsim {

// Consecutive blocks of a unit: so many, or until they hold at least that many bytes of gradients. Or the
// modules with such a name, as fully_shard() or an auto_wrap_policy picks them: "layers.*", "lm_head"; `*`
// stands for anything within a part of a name, and a pattern for the last parts of it.
struct UnitRule {
  int blocks = 1;
  std::optional<Bytes> bytes;
  std::vector<std::string> names;
  bool experts_apart = false;  // those of a block are a unit of their own
  bool operator==(const UnitRule&) const = default;
};

struct ShardUnit {
  std::string name;                    // of its first block, "transformer.h.0"; "root"
  std::vector<std::size_t> gradients;  // in arrival order
  std::int64_t elements = 0;
  std::int64_t trained = 0;  // of them, that have gradients
  bool of_experts = false;   // that ranks have a share of each
};

// Whether a gradient of that name is of experts that a router chooses, which ranks may have a share of each.
bool is_of_experts(std::string_view gradient);

// In forward order; the first is the root, which holds the embeddings and the head. A gradient's block is its
// name up to the first part that is a number ("model.layers.3" of "model.layers.3.mlp.up_proj.weight");
// blocks run forward in the reverse of their arrival. Of modules within one another that are named the inner
// one has the gradient. Throws InputError (without a place; its subject the pattern) where a name is no
// module's.
std::vector<ShardUnit> shard_units(const LayerTrace& trace, const UnitRule& rule);

// A pass cut where another unit's turn comes: durations without slowdown, which add up to the pass. The root
// comes first and last, and a block before its experts and after them.
struct UnitPass {
  std::size_t unit;
  Seconds duration;
};
std::vector<UnitPass> forward_passes(const LayerTrace& trace, const std::vector<ShardUnit>& units);
std::vector<UnitPass> backward_passes(const LayerTrace& trace, const std::vector<ShardUnit>& units);

}  // namespace ddpsim
