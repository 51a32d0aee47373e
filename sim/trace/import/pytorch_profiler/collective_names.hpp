#pragma once
// What NCCL and PyTorch call collectives and types of elements.
#include <optional>
#include <string_view>

#include "sim/trace/import/pytorch_profiler/profile.hpp"
#include "sim/trace/layer_trace.hpp"

namespace ddpsim::pytorch_profiler {

// Of a kernel's name: "ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)", "ncclSymkDevKernel_AllReduce_...",
// "ncclAllReduceRingLLKernel_sum_f32(...)". None where it is no collective.
std::optional<CollectiveKind> collective_of_kernel(std::string_view name);

// Of PyTorch's name: "allreduce", "_allreduce_base", "nccl:all_reduce", "c10d::allreduce_". None for words
// that are no collective.
std::optional<CollectiveKind> collective_of_call(std::string_view name);

// Of such a name, as operations are called here ("all_gather"); "reduce", "send", "recv", "gather", "scatter"
// and "barrier" besides. Empty for other words.
std::string_view operation_of_call(std::string_view name);

// "Float", "float", "c10::Half", "BFloat16" ...; none for what gradients are not made of.
std::optional<DType> dtype_of(std::string_view name);

// Bytes of an element of that type, of gradients and whole numbers.
std::optional<int> element_bytes(std::string_view name);

// Whole numbers ("Long", "int", "Byte", "Bool"): never a gradient.
bool is_integral(std::string_view name);

}  // namespace ddpsim::pytorch_profiler
