// The key `workload.rescale`.
#include <fmt/core.h>

#include "sim/base/limits.hpp"
#include "sim/compute/rescale.hpp"
#include "sim/config/reader.hpp"
#include "sim/text/sections.hpp"

namespace ddpsim {
namespace {

using config::MapReader;
using config::Value;

DType as_dtype(const Value& value) {
  return parse_dtype({config::as_string(value), value.span});
}

// A factor takes the place of everything that would give one.
std::optional<double> read_factor(MapReader& reader) {
  const Value* value = reader.find("factor");
  if (!value) return std::nullopt;
  double factor = config::as_number(0, kLargestRescaleFactor)(*value);
  if (factor == 0)
    throw InputError(value->span, "times of zero are no estimate", "write a number above 0: 0.5 is half");
  for (const char* key : {"from", "to", "dtype"})
    if (const Value* other = reader.find(key))
      throw InputError(other->span, fmt::format("rescale.factor and rescale.{} exclude each other", key),
                       "a stated factor takes the place of what GPU files give");
  reader.finish();
  return factor;
}

}  // namespace

Rescale read_rescale_section(const Value& value, const std::shared_ptr<const GpuDescription>& cluster_gpu,
                             const GpuLoader& load) {
  MapReader reader(value, "workload.rescale");
  Rescale rescale;
  rescale.factor = read_factor(reader);
  if (rescale.factor) return rescale;
  reader.find("from");
  const Value* to = reader.find("to");
  rescale.dtype = reader.optional("dtype", as_dtype).value_or(DType::float32);
  reader.finish();
  rescale.from = load(reader.require("from"));
  rescale.to = to ? load(*to) : cluster_gpu;
  if (!rescale.to)
    throw InputError(value.span, "nothing says which GPU the trace is rescaled to",
                     "add 'to: FILE' (gpus/ has some), or cluster.gpu");
  if (cluster_gpu && *rescale.to != *cluster_gpu)
    throw InputError(to->span,
                     fmt::format("the trace is rescaled to {}, and the cluster's GPU is {}", rescale.to->name,
                                 cluster_gpu->name),
                     "remove 'to': without it the cluster's GPU is meant");
  try {
    for (const auto& gpu : {rescale.from, rescale.to}) peak_of(*gpu, rescale.dtype);
  } catch (const InputError& error) {
    throw error.at(value.span);
  }
  return rescale;
}

LayerTrace rescaled(const LayerTrace& trace, const Rescale& rescale) {
  if (rescale.factor) return rescale_trace(trace, *rescale.factor);
  if (*rescale.from == *rescale.to) return trace;
  return rescale_trace(trace, *rescale.from, *rescale.to, rescale.dtype);
}

}  // namespace ddpsim
