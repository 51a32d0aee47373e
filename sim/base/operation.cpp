#include "sim/base/operation.hpp"

#include <algorithm>

namespace ddpsim {

std::vector<std::string> operation_names() {
  std::vector<std::string> names;
  for (const auto& row : kOperations) names.emplace_back(row.name);
  return names;
}

std::optional<Operation> find_operation(std::string_view name) {
  const auto* row = std::ranges::find(kOperations, name, &OperationTraits::name);
  return row == kOperations.end() ? std::nullopt : std::optional(row->operation);
}

}  // namespace ddpsim
