// One row for each operator that is no element-wise kernel.
#include <algorithm>
#include <array>
#include <string_view>

#include "sim/trace/recording.hpp"

namespace ddpsim {
namespace {

struct Known {
  std::string_view name;  // without its namespace
  OperatorClass of;
};
constexpr auto kProduct = OperatorClass::product;
constexpr auto kConvolution = OperatorClass::convolution;
constexpr auto kCopy = OperatorClass::copy;
constexpr std::array kKnown{Known{"mm", kProduct},
                            Known{"addmm", kProduct},
                            Known{"bmm", kProduct},
                            Known{"baddbmm", kProduct},
                            Known{"_scaled_mm", kProduct},
                            Known{"_grouped_mm", kProduct},
                            Known{"_scaled_grouped_mm", kProduct},
                            Known{"convolution", kConvolution},
                            Known{"_convolution", kConvolution},
                            Known{"cudnn_convolution", kConvolution},
                            Known{"convolution_backward", kConvolution},
                            Known{"all_gather_copy_in", kCopy},
                            Known{"split_with_sizes_copy", kCopy},
                            Known{"chunk_cat", kCopy},
                            Known{"chunk_cat_mixed_dtype", kCopy},
                            Known{"_chunk_cat", kCopy},
                            Known{"cat", kCopy},
                            Known{"copy_", kCopy},
                            Known{"_to_copy", kCopy},
                            Known{"clone", kCopy},
                            Known{"_foreach_copy_", kCopy},
                            Known{"embedding", kCopy},
                            Known{"embedding_dense_backward", kCopy}};

std::string_view short_name(const RecordedOperator& op) {
  std::string_view name = op.name;
  auto colons = name.rfind("::");
  return colons == std::string_view::npos ? name : name.substr(colons + 2);
}

}  // namespace

bool is_of_flash_attn(const RecordedOperator& op) {
  return op.name.find("flash_attn") != std::string::npos;
}

OperatorClass class_of(const RecordedOperator& op) {
  if (op.written <= 0 && op.flops <= 0) return OperatorClass::none;
  auto name = short_name(op);
  bool is_attention = name.find("attention") != std::string_view::npos || is_of_flash_attn(op);
  if (is_attention && op.flops > 0) return OperatorClass::attention;
  const auto* known = std::ranges::find(kKnown, name, &Known::name);
  if (known != kKnown.end()) return known->of;
  if (op.flops > 0) return OperatorClass::product;
  return op.phase == RecordedPhase::optimizer ? OperatorClass::copy : OperatorClass::elementwise;
}

bool is_copy_in(const RecordedOperator& op) {
  auto name = short_name(op);
  return name == "all_gather_copy_in" || name.find("chunk_cat") != std::string_view::npos;
}

bool is_copied_by_ddp(const RecordedOperator& op, bool is_behind_gradient, bool is_waiting) {
  if (op.phase != RecordedPhase::backward || !(is_behind_gradient || is_waiting)) return false;
  auto name = short_name(op);
  return name == "mul" || name == "div_" || name == "copy_" || name == "_foreach_copy_";
}

bool is_copy_out(const RecordedOperator& op) {
  return short_name(op) == "split_with_sizes_copy" && op.name.starts_with("fsdp");
}

}  // namespace ddpsim
