#pragma once
// The passes of a step cut at its modules, which is where DeepSpeed's and Megatron's hooks are. A module is
// what the last part of a gradient's name belongs to: "h.0.fc" of "h.0.fc.weight".
#include <vector>

#include "sim/trace/layer_trace.hpp"

namespace ddpsim {

struct ModulePass {
  std::vector<std::size_t> used;     // gradients whose parameters it computes with
  std::vector<std::size_t> arrived;  // backward: those that are ready with its end, in their order
  Seconds duration;                  // without slowdown; they add up to the pass
};

// A head that shares the embedding's matrix is in no trace: where no parameter of the size of the embedding
// comes after the blocks, the last module (the first one backward) uses the embedding too.
std::vector<ModulePass> forward_modules(const LayerTrace& trace);
std::vector<ModulePass> backward_modules(const LayerTrace& trace);

}  // namespace ddpsim
