#include "sim/compute/rescale.hpp"

#include <algorithm>
#include <map>

#include <fmt/core.h>

#include "sim/compute/roofline.hpp"
#include "sim/compute/transformer_layers.hpp"

namespace ddpsim {
namespace {

struct Ratios {
  double forward = 1, compute = 1;
  std::map<std::string, double> backward;  // by gradient; `compute` for the others
  [[nodiscard]] double of(const std::string& gradient) const {
    auto known = backward.find(gradient);
    return known == backward.end() ? compute : known->second;
  }
};

std::optional<Model> model_of(const TraceMetadata& metadata) {
  if (!metadata.model || !metadata.batch_size || !metadata.sequence_length) return std::nullopt;
  const auto* known = find_transformer(*metadata.model);
  return known ? std::optional(transformer_layers(*known, *metadata.sequence_length)) : std::nullopt;
}

Roofline without_launches(const GpuDescription& gpu, DType compute) {
  auto roofline = make_roofline(gpu, compute, {kUsualEfficiency, kUsualCopyEfficiency});
  roofline.launch = Seconds();
  return roofline;
}

// A gradient stands for the layers since the one that had gradients before it.
Ratios ratios(const Model& model, const Batch& batch, const Roofline& from, const Roofline& to) {
  Ratios ratios;
  Seconds forward_from, forward_to, backward_from, backward_to;
  for (auto layer = model.layers.rbegin(); layer != model.layers.rend(); ++layer) {
    forward_from += from.time(layer->forward, batch);
    forward_to += to.time(layer->forward, batch);
    backward_from += from.time(layer->backward, batch);
    backward_to += to.time(layer->backward, batch);
    if (layer->tensors.empty()) continue;
    for (const auto& tensor : layer->tensors) ratios.backward[tensor.name] = backward_to / backward_from;
    backward_from = backward_to = Seconds();
  }
  ratios.forward = forward_to / forward_from;
  return ratios;
}

void multiply_times(LayerTrace& trace, const Ratios& factors, double optimizer) {
  Seconds before, now;
  for (auto& gradient : trace.gradients) {
    double factor = factors.of(gradient.name);
    now += (gradient.ready - before) * factor;
    before = gradient.ready;
    // The spread is of the whole time until then.
    if (gradient.ready_spread && before > Seconds(0))
      gradient.ready_spread = *gradient.ready_spread * (now / before);
    gradient.ready = now;
    if (gradient.forward_end) gradient.forward_end = *gradient.forward_end * factors.forward;
  }
  if (trace.forward) trace.forward = *trace.forward * factors.forward;
  if (trace.optimizer) trace.optimizer = *trace.optimizer * optimizer;
}

// An estimate of an estimate says both; nobody measured passes of it.
void mark(TraceMetadata& metadata, const std::string& how) {
  metadata.totals.reset();
  metadata.synthetic = metadata.synthetic ? *metadata.synthetic + ", " + how : how;
}

}  // namespace

LayerTrace rescale_trace(const LayerTrace& trace, double factor) {
  LayerTrace result = trace;
  multiply_times(result, {factor, factor, {}}, factor);
  mark(result.metadata, fmt::format("rescaled by a stated factor of {}", factor));
  return result;
}

LayerTrace rescale_trace(const LayerTrace& trace, const GpuDescription& from, const GpuDescription& to,
                         DType compute) {
  auto peak_from = peak_of(from, compute), peak_to = peak_of(to, compute);
  double peak_ratio = peak_from / peak_to;
  double memory_ratio = from.memory_bandwidth / to.memory_bandwidth;
  Ratios factors{peak_ratio, peak_ratio, {}};
  auto model = model_of(trace.metadata);
  if (model) {
    factors = ratios(*model, {*trace.metadata.batch_size, *trace.metadata.sequence_length},
                     without_launches(from, compute), without_launches(to, compute));
    factors.compute = peak_ratio;
  }
  LayerTrace result = trace;
  multiply_times(result, factors, memory_ratio);
  result.metadata.device = to.name;
  mark(result.metadata,
       fmt::format("rescaled from {} to {} by their {} figures", from.name, to.name, dtype_name(compute)));
  result.metadata.notes.push_back(fmt::format(
      "Estimated for {} from times on {}, with a ratio of the peaks in {} of {:.4g} and of the "
      "memory bandwidths of {:.4g}; {}.",
      to.name, from.name, dtype_name(compute), peak_ratio, memory_ratio,
      model ? "a roofline says which of them counts for a layer" : "all layers count as computing"));
  return result;
}

}  // namespace ddpsim
