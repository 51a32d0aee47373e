#pragma once
// Where torch.compile cuts the graph of a model inside DistributedDataParallel: DDPOptimizer of PyTorch's
// torch/_dynamo/backends/distributed.py, as of 2.5 to 2.15. Older ones may cut between a module's weight and
// its bias.
#include <optional>
#include <span>
#include <vector>

#include "sim/trace/layer_trace.hpp"

namespace ddpsim {

// What counts towards a subgraph's size, in the reverse order of the forward pass.
struct CompiledGraph {
  struct Module {
    std::size_t last = 0;  // its last gradient to arrive
    Bytes bytes;           // of all of them
  };
  std::vector<Module> modules;
  Bytes tied_head;  // comes before all of them
};

// Gradients that arrive one after the other and whose names differ in the last part only are one module's,
// unless that part is a number. `unused` ones are not in the graph.
CompiledGraph compiled_graph(const LayerTrace& trace, std::span<const std::size_t> unused, Bytes tied_head);

// A subgraph is closed before the next module once it holds `cap`, the first one once it holds 1 MiB.
struct Subgraphs {
  std::vector<std::size_t> ends;         // by gradient, the last one of its subgraph
  std::optional<Bytes> smallest_closed;  // of those that `cap` closed
};
Subgraphs subgraphs(const CompiledGraph& graph, Bytes cap);

}  // namespace ddpsim
