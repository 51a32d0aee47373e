#include "sim/trace/forward_ends.hpp"

#include <utility>

namespace ddpsim {

ForwardEnds forward_ends(const LayerTrace& trace) {
  ForwardEnds result;
  if (trace.has_forward_ends()) {
    for (const auto& gradient : trace.gradients) result.ends.push_back(*gradient.forward_end);
    return result;
  }
  auto forward = trace.forward.value_or(Seconds());
  Seconds ready, ready_before;  // of this layer's gradients, and of the layer's that arrived before it
  for (const auto& gradient : trace.gradients) {
    if (gradient.ready != ready) ready_before = std::exchange(ready, gradient.ready);
    result.ends.push_back(forward * (1 - ready_before / trace.backward()));
  }
  result.note =
      Note{"forward-spread",
           "the trace does not say when a layer's forward pass ends: it is spread over the layers in "
           "proportion to their backward passes"};
  return result;
}

}  // namespace ddpsim
