#pragma once
// A step of three units, for programs that are derived by hand.
#include "sim/trace/layer_trace.hpp"

namespace ddpsim::testing {

inline Gradient gradient(const char* name, std::int64_t elements, double ready, double forward_end) {
  return {name, elements, DType::float32, Seconds(ready), {}, Seconds(forward_end)};
}

// Two blocks of 2 Mi elements between an embedding of 4 Mi and a final norm of 1 Ki. Forward: embedding 0.5
// s, blocks 1 s each, head 0.5 s. Backward: head 1 s, blocks 2 s and 3 s, embedding 1 s.
inline LayerTrace two_blocks() {
  LayerTrace trace;
  trace.forward = Seconds(3);
  trace.optimizer = Seconds(0.8);
  trace.gradients = {
      gradient("ln_f.weight", 1024, 1, 3),          gradient("h.1.fc.weight", 1 << 20, 2, 2.5),
      gradient("h.1.attn.weight", 1 << 20, 3, 2.0), gradient("h.0.fc.weight", 1 << 20, 4.5, 1.5),
      gradient("h.0.attn.weight", 1 << 20, 6, 1),   gradient("wte.weight", 4 << 20, 7, 0.5)};
  trace.registration_order = reverse_of_arrival(6);
  return trace;
}

}  // namespace ddpsim::testing
