// Of parts of a transformer: what is frozen, in which order tensors come, and parts that are made once.
#include <algorithm>

#include <fmt/core.h>

#include "sim/base/module_names.hpp"
#include "sim/base/source.hpp"
#include "sim/model/transformer_modules.hpp"

namespace ddpsim {

void freeze(std::vector<TransformerPart>& parts, const std::vector<std::string>& names) {
  std::vector<bool> is_known(names.size());
  bool trains = false;
  for (auto& part : parts)
    for (auto& module : part.modules)
      for (auto& tensor : module.tensors) {
        tensor.is_frozen = !named_module_of(tensor.name, names, is_known).empty();
        trains |= !tensor.is_frozen;
      }
  if (auto unknown = std::ranges::find(is_known, false); unknown != is_known.end())
    throw InputError(fmt::format("no module is called '{}', or all of it is in modules named here",
                                 names[static_cast<std::size_t>(unknown - is_known.begin())]),
                     fmt::format("a module is what parameters' names say, like '{}' or 'layers.*.mlp'",
                                 parts[1].modules.front().tensors.front().name))
        .about("frozen");
  if (!trains) throw InputError("all of the model is frozen", "leave something to train").about("frozen");
}

std::shared_ptr<const std::vector<TransformerPart>> KnownParts::of(const Transformer& model,
                                                                   std::int64_t sequence,
                                                                   const std::vector<std::string>& frozen) {
  auto rows = model.position_rows(sequence);
  std::scoped_lock lock(mutex_);
  for (const auto& known : known_)
    if (known.rows == rows && known.frozen == frozen && known.model == model) return known.parts;
  constexpr std::size_t kMostKnown = 16;
  if (known_.size() == kMostKnown) known_.erase(known_.begin());
  auto parts = std::make_shared<std::vector<TransformerPart>>(transformer_parts(model, sequence));
  if (!frozen.empty()) freeze(*parts, frozen);
  known_.push_back({model, rows, frozen, std::move(parts)});
  return known_.back().parts;
}

std::vector<ParameterTensor> registration_order(const std::vector<TransformerPart>& parts) {
  auto tensors = arrival_order(parts);
  std::sort(tensors.begin(), tensors.end(),
            [](const auto& a, const auto& b) { return a.parameter < b.parameter; });
  return tensors;
}

std::vector<ParameterTensor> arrival_order(const std::vector<TransformerPart>& parts) {
  std::vector<ParameterTensor> tensors;
  for (auto part = parts.rbegin(); part != parts.rend(); ++part)
    for (auto module = part->modules.rbegin(); module != part->modules.rend(); ++module)
      tensors.insert(tensors.end(), module->tensors.begin(), module->tensors.end());
  return tensors;
}

}  // namespace ddpsim
