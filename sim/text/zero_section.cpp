// The key `zero`.
#include <cmath>

#include "sim/base/limits.hpp"
#include "sim/config/reader.hpp"
#include "sim/text/sections.hpp"

namespace ddpsim {

using config::MapReader;
using config::Value;

std::int64_t as_elements(const Value& value, std::int64_t least) {
  double elements = config::as_number(static_cast<double>(least), static_cast<double>(kMostElements))(value);
  if (elements != std::floor(elements))
    throw InputError(value.span, "a number of elements is whole", "write 5e8, or 500000000");
  return static_cast<std::int64_t>(elements);
}

ZeroOptions read_zero_section(const Value* value, DType param_dtype) {
  ZeroOptions options;
  options.param_dtype = param_dtype;
  if (!value) return options;
  MapReader reader(*value, "zero");
  auto read = [&](const char* key, std::int64_t least, std::int64_t& elements) {
    if (const Value* given = reader.find(key)) elements = as_elements(*given, least);
  };
  read("reduce_bucket_size", 1, options.reduce_bucket_size);
  read("allgather_bucket_size", 1, options.allgather_bucket_size);
  read("prefetch_bucket_size", 0, options.prefetch_bucket_size);
  read("max_live_parameters", 0, options.max_live_parameters);
  read("max_reuse_distance", 0, options.max_reuse_distance);
  read("param_persistence_threshold", 0, options.param_persistence_threshold);
  options.overlap_comm = reader.optional("overlap_comm", config::as_bool);
  options.contiguous_gradients = reader.optional("contiguous_gradients", config::as_bool).value_or(true);
  options.param_dtype = reader.optional("param_dtype", as_training_dtype).value_or(param_dtype);
  options.reduce_dtype = reader.optional("reduce_dtype", as_training_dtype);
  options.grad_accum_dtype = reader.optional("grad_accum_dtype", as_training_dtype);
  options.offload_optimizer = reader.optional("offload_optimizer", config::as_bool).value_or(false);
  const Value* param = reader.find("offload_param");
  if (param) options.offload_param = config::as_bool(*param);
  reader.finish();
  if (options.offload_param && !options.offload_optimizer)
    throw InputError(param->span, "parameters on the host and their optimizer on the GPU are not simulated",
                     "add offload_optimizer: true");
  if (options.offload_optimizer && !options.contiguous_gradients)
    throw InputError(value->find("contiguous_gradients")->value.span,
                     "with offload_optimizer DeepSpeed's gradients are contiguous", "remove it");
  return options;
}

}  // namespace ddpsim
