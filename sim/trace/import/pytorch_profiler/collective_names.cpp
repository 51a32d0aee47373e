#include "sim/trace/import/pytorch_profiler/collective_names.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "sim/base/letter_case.hpp"

namespace ddpsim::pytorch_profiler {
namespace {

constexpr std::array kKinds{
    std::pair{std::string_view("allreduce"), CollectiveKind::all_reduce},
    std::pair{std::string_view("reducescatter"), CollectiveKind::reduce_scatter},
    std::pair{std::string_view("allgather"), CollectiveKind::all_gather},
    std::pair{std::string_view("broadcast"), CollectiveKind::broadcast},
};

}  // namespace

std::optional<CollectiveKind> collective_of_kernel(std::string_view name) {
  name = name.substr(0, name.find('('));
  if (!name.starts_with("nccl") || name.find("Kernel") == std::string_view::npos) return std::nullopt;
  auto word = letters_of(name);
  for (const auto& [part, kind] : kKinds)
    if (word.find(part) != std::string::npos) return kind;
  return CollectiveKind::other;
}

std::optional<CollectiveKind> collective_of_call(std::string_view name) {
  auto word = letters_of(name.substr(name.rfind(':') + 1));
  for (const auto& [start, kind] : kKinds)
    if (word.starts_with(start)) return kind;
  return std::nullopt;
}

std::string_view operation_of_call(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> kOperations[] = {
      {"allreduce", "all_reduce"},
      {"reducescatter", "reduce_scatter"},
      {"allgather", "all_gather"},
      {"alltoall", "all_to_all"},
      {"broadcast", "broadcast"},
      {"reduce", "reduce"},
      {"send", "send"},
      {"recv", "recv"},
      {"gather", "gather"},
      {"scatter", "scatter"},
      {"barrier", "barrier"}};
  auto word = letters_of(name.substr(name.rfind(':') + 1));
  for (const auto& [start, operation] : kOperations)
    if (word.starts_with(start)) return operation;
  return {};
}

std::optional<DType> dtype_of(std::string_view name) {
  auto word = name.substr(name.rfind(':') + 1);
  if (word == "Float" || word == "float") return DType::float32;
  if (word == "Half") return DType::float16;
  if (word == "BFloat16") return DType::bfloat16;
  if (word == "Double" || word == "double") return DType::float64;
  return std::nullopt;
}

std::optional<int> element_bytes(std::string_view name) {
  constexpr std::pair<std::string_view, int> kIntegral[] = {
      {"Byte", 1},     {"Char", 1},          {"Bool", 1},       {"Short", 2}, {"Int", 4},
      {"Long", 8},     {"bool", 1},          {"char", 1},       {"int", 4},   {"short", 2},
      {"long int", 8}, {"unsigned char", 1}, {"signed char", 1}};
  for (const auto& [word, bytes] : kIntegral)
    if (name == word) return bytes;
  if (auto dtype = dtype_of(name)) return bytes_per_element(*dtype);
  return std::nullopt;
}

bool is_integral(std::string_view name) {
  constexpr std::array<std::string_view, 13> kNames{
      "Byte", "Char", "Short", "Int",      "Long",          "Bool",       "int",
      "bool", "char", "short", "long int", "unsigned char", "signed char"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

}  // namespace ddpsim::pytorch_profiler
