#include "sim/compute/synthesize.hpp"

#include <fmt/core.h>

#include "sim/base/check.hpp"
#include "sim/base/limits.hpp"
#include "sim/base/quantity.hpp"

namespace ddpsim {
namespace {

double memory_efficiency(const SynthesisOptions& options) {
  return options.memory_efficiency.value_or(options.gpu->copy_efficiency);
}

// One pass after the other; where there is no GPU, a FLOP takes a second until the times are scaled.
class LayerTimes {
 public:
  explicit LayerTimes(const SynthesisOptions& options) : batch_(options.batch) {
    if (options.gpu)
      roofline_ =
          make_roofline(*options.gpu, options.compute, {options.efficiency, memory_efficiency(options)});
  }
  [[nodiscard]] Seconds of(const LayerPass& pass) const {
    return roofline_ ? roofline_->time(pass, batch_) : Seconds(pass.flops(batch_).value());
  }

 private:
  Batch batch_;
  std::optional<Roofline> roofline_;
};

// By what to multiply times that add up to `estimate` so that they add up to `known`.
double scale(const std::optional<Seconds>& known, Seconds estimate, const Model& model) {
  if (!known) return 1;
  if (estimate == Seconds())
    throw InputError(
        fmt::format("the layers of '{}' compute nothing, so no time can be spread over them", model.name),
        "give its layers 'flops_per_token', or a GPU and 'values_per_token'");
  return *known / estimate;
}

std::vector<std::string> notes(const SynthesisOptions& options) {
  std::vector<std::string> notes;
  if (const auto& gpu = options.gpu) {
    auto bandwidth = format_bandwidth(gpu->memory_bandwidth);
    double share = memory_efficiency(options);
    notes.push_back(fmt::format(
        "A layer's time is the larger of FLOPs / ({} x {} in {}) and bytes / ({} x {}), and {} a kernel.",
        options.efficiency, format_flops_rate(peak_of(*gpu, options.compute)), dtype_name(options.compute),
        share, bandwidth, format_seconds(gpu->copy_launch)));
    if (!options.optimizer)
      notes.push_back(fmt::format("The optimizer is AdamW's traffic of {} bytes a parameter at {} x {}.",
                                  kAdamWValues * bytes_per_element(options.gradients), share, bandwidth));
  } else {
    notes.emplace_back("A layer's time is in proportion to its FLOPs.");
  }
  std::string given;
  for (const auto& [name, time] :
       {std::pair{"forward", options.forward}, std::pair{"backward", options.backward},
        std::pair{"optimizer", options.optimizer}})
    if (time) given += fmt::format("{}{} {}", given.empty() ? "" : ", ", name, format_seconds(*time));
  if (!given.empty()) notes.push_back("Scaled to times that were given as a whole, " + given + ".");
  return notes;
}

std::string how(const SynthesisOptions& options) {
  if (!options.gpu) return "FLOPs";
  return fmt::format("roofline, efficiency {}, memory efficiency {}", options.efficiency,
                     memory_efficiency(options));
}

void check_times(const LayerTrace& trace) {
  for (const auto& time : {trace.forward, trace.optimizer, std::optional(trace.backward())})
    if (time && !(*time < kLongestDuration))
      throw InputError("a part of the step takes 10^9 s or longer", "check the batch and the layers' counts");
}

}  // namespace

LayerTrace synthesize(const Model& model, const SynthesisOptions& options) {
  DDPSIM_CHECK(options.gpu || (options.forward && options.backward), "neither a GPU nor times");
  LayerTimes times(options);
  LayerTrace trace;
  Seconds forward, backward;
  std::vector<Seconds> forward_ends;
  for (const auto& layer : model.layers) {
    forward += times.of(layer.forward);
    forward_ends.push_back(forward);
    backward += times.of(layer.backward);
  }
  double forward_scale = scale(options.forward, forward, model);
  trace.forward = forward * forward_scale;
  double backward_scale = scale(options.backward, backward, model);
  Seconds now;
  for (auto i = model.layers.size(); i-- > 0;) {
    now += times.of(model.layers[i].backward);
    for (const auto& tensor : model.layers[i].tensors)
      trace.gradients.push_back({tensor.name,
                                 tensor.elements,
                                 options.gradients,
                                 now * backward_scale,
                                 {},
                                 forward_ends[i] * forward_scale});
  }
  trace.registration_order.resize(trace.gradients.size());
  std::size_t gradient = 0;
  for (auto layer = model.layers.rbegin(); layer != model.layers.rend(); ++layer)
    for (const auto& tensor : layer->tensors) trace.registration_order[tensor.parameter] = gradient++;
  trace.optimizer = options.optimizer;
  if (!trace.optimizer && options.gpu)
    trace.optimizer = optimizer_bytes(model, options.gradients) /
                      (options.gpu->memory_bandwidth * memory_efficiency(options));
  trace.metadata.model = model.name;
  if (options.gpu) trace.metadata.device = options.gpu->name;
  trace.metadata.batch_size = options.batch.samples;
  trace.metadata.sequence_length = options.batch.sequence;
  trace.metadata.synthetic = how(options);
  if (options.forward && options.backward) trace.metadata.totals = "given";
  trace.metadata.notes = notes(options);
  check_times(trace);
  return trace;
}

}  // namespace ddpsim
