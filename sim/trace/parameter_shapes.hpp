#pragma once
// The shapes of a trace's parameters, which it does not hold itself.
#include <cstdint>
#include <vector>

#include "sim/model/transformer.hpp"
#include "sim/trace/layer_trace.hpp"

namespace ddpsim {

// The first dimension of each gradient's parameter, by gradient. Empty where a gradient is not one of the
// model's, by name and size.
std::vector<std::int64_t> parameter_rows(const LayerTrace& trace, const Transformer& model);

}  // namespace ddpsim
