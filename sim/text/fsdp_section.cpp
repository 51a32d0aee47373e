// The key `fsdp`.
#include "sim/base/limits.hpp"
#include "sim/config/reader.hpp"
#include "sim/text/sections.hpp"

namespace ddpsim {
namespace {

using config::MapReader;
using config::Value;

// layer, a number of layers, or a size.
UnitRule as_units(const Value& value) {
  if (value.kind == Value::Kind::scalar && value.scalar == "layer") return {};
  constexpr auto kHint = "write layer, {layers: 2} or {bytes: 500MB}";
  config::check_word(value, {"layer"}, kHint);
  if (value.kind != Value::Kind::map)
    throw InputError(value.span, "a unit is a layer, so many layers, or as many as hold a size", kHint);
  MapReader reader(value, "fsdp.unit");
  const Value* layers = reader.find("layers");
  const Value* bytes = reader.find("bytes");
  reader.finish();
  if ((layers == nullptr) == (bytes == nullptr))
    throw InputError(value.span, "a unit has a number of layers or a size",
                     "write {layers: 2} or {bytes: 500MB}");
  UnitRule rule;
  if (layers) rule.blocks = static_cast<int>(config::as_integer(1, kMostBlocks)(*layers));
  if (bytes) rule.bytes = config::as_bytes(*bytes);
  return rule;
}

// What nobody says is reduced in: FSDP1's MixedPrecision takes the dtype of the parameters
// (_flat_param.py, _init_param_reduce_dtypes), and of fully_shard's users most say float32, as torchtitan
// does.
DType usual_reduce_dtype(Strategy strategy, DType param_dtype) {
  return is_fsdp1(strategy) ? param_dtype : DType::float32;
}

}  // namespace

DType as_training_dtype(const Value& value) {
  return config::as_word(config::Words<DType>{
      {"fp32", DType::float32}, {"bf16", DType::bfloat16}, {"fp16", DType::float16}})(value);
}

FsdpOptions read_fsdp_section(const Value* value, Strategy strategy, DType param_dtype) {
  FsdpOptions options;
  options.param_dtype = param_dtype;
  options.reduce_dtype = usual_reduce_dtype(strategy, param_dtype);
  if (!value) return options;
  MapReader reader(*value, "fsdp");
  if (const Value* unit = reader.find("unit")) options.units = as_units(*unit);
  if (const Value* units = reader.find("units")) {
    if (const auto* unit = value->find("unit"))
      throw InputError(unit->key_span, "fsdp.unit and fsdp.units exclude each other",
                       "remove one of the two");
    options.units.names = config::as_list(config::as_string)(*units);
    if (options.units.names.empty())
      throw InputError(units->span, "no module is named", "write [\"layers.*\"], or remove 'units'");
  }
  options.cpu_offload = reader.optional("cpu_offload", config::as_bool).value_or(false);
  options.reshard_after_forward = reader.optional("reshard_after_forward", config::as_bool).value_or(true);
  if (const Value* last = reader.find("reshard_last")) {
    options.reshard_last = config::as_bool(*last);
    if (options.reshard_last && !options.reshard_after_forward)
      throw InputError(last->span, "without fsdp.reshard_after_forward no unit is resharded",
                       "remove one of the two");
  }
  options.param_dtype = reader.optional("param_dtype", as_training_dtype).value_or(param_dtype);
  options.reduce_dtype = reader.optional("reduce_dtype", as_training_dtype)
                             .value_or(usual_reduce_dtype(strategy, options.param_dtype));
  options.reduce_every_micro_batch =
      reader.optional("reduce_every_micro_batch", config::as_bool).value_or(true);
  options.communicators =
      static_cast<int>(reader.optional("communicators", config::as_integer(1, 2)).value_or(1));
  const Value* group = reader.find("shard_group");
  if (group) config::check_word(*group, {"node"}, "write node, or how many ranks hold the model: 16");
  if (group && !config::is_word(*group, "node"))
    options.shard_group = static_cast<int>(config::as_integer(2, kLargestWorldSize)(*group));
  reader.finish();
  return options;
}

}  // namespace ddpsim
