#pragma once
// When each layer's forward pass ends: recorded, or spread.
#include <optional>
#include <vector>

#include "sim/base/note.hpp"
#include "sim/trace/layer_trace.hpp"

namespace ddpsim {

struct ForwardEnds {
  std::vector<Seconds> ends;  // by gradient, from the start of the forward pass
  std::optional<Note> note;   // code forward-spread, where the trace does not have them
};

// Those of the trace. Where it has none, its forward pass is spread over the layers in proportion to their
// backward passes, in the reverse of arrival; gradients that are ready at the same time are of one layer.
[[nodiscard]] ForwardEnds forward_ends(const LayerTrace& trace);

}  // namespace ddpsim
