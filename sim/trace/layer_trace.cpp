#include "sim/trace/layer_trace.hpp"

#include <array>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/check.hpp"
#include "sim/base/suggest.hpp"

namespace ddpsim {
namespace {

struct DTypeInfo {
  DType dtype;
  std::string_view name;  // as torch prints it, without "torch."
  int bytes;
};

constexpr std::array<DTypeInfo, 4> kDTypes{{{DType::float16, "float16", 2},
                                            {DType::bfloat16, "bfloat16", 2},
                                            {DType::float32, "float32", 4},
                                            {DType::float64, "float64", 8}}};

const DTypeInfo& info(DType dtype) {
  auto index = static_cast<std::size_t>(dtype);
  DDPSIM_CHECK(index < kDTypes.size() && kDTypes[index].dtype == dtype, "a dtype that is not in the table");
  return kDTypes[index];
}

}  // namespace

int bytes_per_element(DType dtype) {
  return info(dtype).bytes;
}

std::string_view dtype_name(DType dtype) {
  return info(dtype).name;
}

std::optional<DType> find_dtype(std::string_view name) {
  for (const auto& known : kDTypes)
    if (known.name == name) return known.dtype;
  return std::nullopt;
}

std::vector<std::string> dtype_names() {
  std::vector<std::string> names;
  for (const auto& known : kDTypes) names.emplace_back(known.name);
  return names;
}

DType parse_dtype(const Located& field) {
  if (auto dtype = find_dtype(field.text)) return *dtype;
  auto names = dtype_names();
  throw InputError(field.span,
                   fmt::format("unknown dtype '{}'{}", field.text, did_you_mean(field.text, names)),
                   fmt::format("the dtypes are {}", fmt::join(names, ", ")));
}

Bytes LayerTrace::bytes() const {
  Bytes total;
  for (const auto& gradient : gradients)
    if (!gradient.is_frozen) total += gradient.bytes();
  return total;
}

std::optional<std::string> synthetic_mark(const TraceMetadata& metadata) {
  if (!metadata.synthetic) return std::nullopt;
  return "estimated, not recorded (" + *metadata.synthetic + ")";
}

std::vector<std::size_t> reverse_of_arrival(std::size_t n_gradients) {
  std::vector<std::size_t> order(n_gradients);
  std::iota(order.rbegin(), order.rend(), std::size_t{0});
  return order;
}

}  // namespace ddpsim
