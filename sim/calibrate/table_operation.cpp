#include "sim/calibrate/table_operation.hpp"

#include <algorithm>
#include <array>

#include <fmt/core.h>

#include "sim/base/check.hpp"
#include "sim/base/letter_case.hpp"

namespace ddpsim::calibrate {
namespace {

// Torch's names go on ("all_gather_into_tensor", "all_to_all_single"), but not where that is another's.
bool is_called(const OperationTraits& row, std::string_view letters) {
  auto name = letters_of(row.name);
  if (!letters.starts_with(name)) return false;
  auto begins = [&](const OperationTraits& other) {
    return &other != &row && other.name.starts_with(row.name);
  };
  if (std::ranges::none_of(kOperations, begins)) return true;
  letters.remove_prefix(name.size());
  return letters.empty() || letters == "perf";
}

}  // namespace

Operations any_operation() {
  Operations all;
  for (const auto& [name, operation] : kOperationNames) all.push_back(operation);
  return all;
}

std::optional<Operation> operation_named(std::string_view name) {
  if (auto slash = name.rfind('/'); slash != std::string_view::npos) name = name.substr(slash + 1);
  auto letters = letters_of(name);
  for (const auto& row : kOperations)
    if (is_called(row, letters)) return row.operation;
  return std::nullopt;
}

Operation require_operation(const Located& name) {
  if (auto operation = operation_named(name.text)) return *operation;
  throw InputError(name.span, fmt::format("'{}' is no operation that ddpsim has times for", name.text),
                   "write one of " + words(any_operation()));
}

std::optional<double> ranks_of_factor(Operation operation, double factor) {
  auto least = traits_of(operation).least;
  double whole = least == BufferShare::whole ? 2 : 1;
  if (least == BufferShare::nothing || factor > 0.9995 * whole) return std::nullopt;
  return whole / (whole - factor);
}

void narrow_by_reduction(Operations& operations, const Located& reduction, const Located* root) {
  bool none = reduction.text == "none";
  std::optional<bool> rooted;
  if (root) rooted = !root->text.ends_with("-1");  // JSON has it padded
  auto stays = [&](Operation operation) {
    return reduces(operation) != none && (!rooted || is_rooted(operation) == *rooted);
  };
  auto said = words(operations);
  std::erase_if(operations, [&](Operation operation) { return !stays(operation); });
  if (operations.empty())
    throw InputError(reduction.span,
                     fmt::format("this row {} and {}: it is not of {}",
                                 none ? "reduces nothing" : "reduces with " + reduction.text,
                                 !root || !*rooted ? "has no root" : "has root " + root->text, said),
                     "is it the right file, and are operations kept apart?");
}

std::string words(const Operations& operations) {
  std::string text;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (i > 0) text += i + 1 == operations.size() ? " or " : ", ";
    text += operation_name(operations[i]);
  }
  return text;
}

}  // namespace ddpsim::calibrate
