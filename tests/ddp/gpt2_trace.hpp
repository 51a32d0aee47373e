#pragma once
// A GPT-2 with a tied output layer, whose gradients arrive one a millisecond.
#include "sim/model/transformer_modules.hpp"
#include "sim/trace/layer_trace.hpp"

namespace ddpsim::test {

inline LayerTrace gpt2_trace(const Transformer& model, DType dtype = DType::float32) {
  LayerTrace trace;
  auto tensors = arrival_order(transformer_parts(model, model.positions));
  trace.registration_order.resize(tensors.size());
  for (const auto& tensor : tensors) {
    auto place = trace.gradients.size();
    trace.registration_order[tensor.parameter] = place;
    trace.gradients.push_back(
        {tensor.name, tensor.elements, dtype, Seconds(1e-3 * static_cast<double>(place + 1)), {}});
  }
  return trace;
}

}  // namespace ddpsim::test
