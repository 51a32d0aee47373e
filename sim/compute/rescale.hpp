#pragma once
// A trace recorded on one GPU as an estimate for another.
#include "sim/gpu/gpu_description.hpp"
#include "sim/trace/layer_trace.hpp"

namespace ddpsim {

// Forward and each gradient's share of the backward pass are multiplied by the time that a roofline gives the
// layers behind it on `to`, over the one on `from`, where the trace's header names a GPT-2 with batch and
// sequence: the ratio of the peaks for a layer that computes, of the memory bandwidths for one that moves.
// Elsewhere all counts as computing. The optimizer only moves. Launches are left out, and whatever share of
// the peak is reached counts as the same on both. Throws InputError where a GPU has no peak for `compute`.
LayerTrace rescale_trace(const LayerTrace& trace, const GpuDescription& from, const GpuDescription& to,
                         DType compute);

// All times `factor` times as long, where somebody knows or states that.
LayerTrace rescale_trace(const LayerTrace& trace, double factor);

}  // namespace ddpsim
