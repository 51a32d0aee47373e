// The key `workload.rescale`.
#include <fmt/core.h>

#include "sim/compute/rescale.hpp"
#include "sim/resolve/sections.hpp"

namespace ddpsim {

Rescale read_rescale(const GivenJob& given, const KnownGpu& cluster_gpu, const GpuLoader& load) {
  const auto& section = *given.job.workload.rescale;
  Rescale rescale;
  rescale.factor = section.factor;
  if (rescale.factor) return rescale;
  rescale.dtype = section.dtype;
  rescale.from = load(given.located(*section.from, "workload.rescale.from"));
  rescale.to = section.to ? load(given.located(*section.to, "workload.rescale.to")) : cluster_gpu;
  const auto& place = given.at("workload.rescale");
  if (!rescale.to)
    throw InputError(place, "nothing says which GPU the trace is rescaled to",
                     "add 'to: FILE' (gpus/ has some), or cluster.gpu");
  if (cluster_gpu && *rescale.to != *cluster_gpu)
    throw InputError(given.at("workload.rescale.to"),
                     fmt::format("the trace is rescaled to {}, and the cluster's GPU is {}", rescale.to->name,
                                 cluster_gpu->name),
                     "remove 'to': without it the cluster's GPU is meant");
  try {
    for (const auto& gpu : {rescale.from, rescale.to}) peak_of(*gpu, rescale.dtype);
  } catch (const InputError& error) {
    throw error.at(place);
  }
  return rescale;
}

LayerTrace rescaled(const LayerTrace& trace, const Rescale& rescale) {
  if (rescale.factor) return rescale_trace(trace, *rescale.factor);
  if (*rescale.from == *rescale.to) return trace;
  return rescale_trace(trace, *rescale.from, *rescale.to, rescale.dtype);
}

}  // namespace ddpsim
