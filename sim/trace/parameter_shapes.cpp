#include "sim/trace/parameter_shapes.hpp"

#include <string_view>
#include <unordered_map>

#include "sim/model/transformer_modules.hpp"

namespace ddpsim {

std::vector<std::int64_t> parameter_rows(const LayerTrace& trace, const Transformer& model) {
  auto tensors = arrival_order(transformer_parts(model, trace.metadata.sequence_length.value_or(1)));
  std::unordered_map<std::string_view, const ParameterTensor*> known;
  for (const auto& tensor : tensors) known.emplace(tensor.name, &tensor);
  std::vector<std::int64_t> rows;
  rows.reserve(trace.gradients.size());
  for (const auto& gradient : trace.gradients) {
    auto tensor = known.find(gradient.name);
    if (tensor == known.end() || tensor->second->elements != gradient.elements) return {};
    rows.push_back(tensor->second->rows);
  }
  return rows;
}

}  // namespace ddpsim
