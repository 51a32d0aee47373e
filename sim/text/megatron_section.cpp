// The key `megatron`.
#include "sim/base/limits.hpp"
#include "sim/config/reader.hpp"
#include "sim/text/sections.hpp"

namespace ddpsim {

using config::MapReader;
using config::Value;

MegatronOptions read_megatron_section(const Value* value, DType param_dtype) {
  MegatronOptions options;
  options.param_dtype = param_dtype;
  if (!value) return options;
  MapReader reader(*value, "megatron");
  const Value* size = reader.find("bucket_size");
  if (size) config::check_word(*size, {"auto"}, "write auto, or a number of elements: 5e8");
  if (size && !config::is_word(*size, "auto")) options.bucket_size = as_elements(*size, 1);
  options.overlap_grad_reduce = reader.optional("overlap_grad_reduce", config::as_bool).value_or(true);
  options.overlap_param_gather = reader.optional("overlap_param_gather", config::as_bool).value_or(true);
  options.param_dtype = reader.optional("param_dtype", as_training_dtype).value_or(param_dtype);
  options.grad_reduce_in_fp32 = reader.optional("grad_reduce_in_fp32", config::as_bool);
  reader.finish();
  if (options.overlap_param_gather && !options.overlap_grad_reduce) {
    const auto* place = value->find("overlap_grad_reduce");
    throw InputError(place->value.span,
                     "Megatron gathers in the forward pass only where it also overlaps reductions",
                     "add overlap_param_gather: false");
  }
  if (options.bucket_size && !options.overlap_grad_reduce)
    throw InputError(size->span, "without overlap_grad_reduce all gradients are one bucket",
                     "remove bucket_size");
  return options;
}

}  // namespace ddpsim
