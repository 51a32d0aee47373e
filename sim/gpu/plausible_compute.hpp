#pragma once
// Whether a GPU could have computed a trace in the times that it says.
#include <string_view>
#include <vector>

#include "sim/base/note.hpp"
#include "sim/gpu/gpu_description.hpp"
#include "sim/trace/layer_trace.hpp"

namespace ddpsim {

// Whether a trace's device ("NVIDIA A100-PG509-200") is that GPU ("NVIDIA A100 SXM4 80GB"): the model's name,
// "A100", stands in it.
bool is_device(std::string_view device_name, std::string_view gpu);

// Of a trace recorded on that GPU, whose batch is counted in tokens: a note (code compute-implausible) where
// the backward pass would reach more than the GPU's highest peak, or less than 3 % of the peak of the
// gradients' dtype. A transformer's backward pass takes 4 operations per parameter and token (Kaplan et al.,
// arXiv 2001.08361, section 2.1).
std::vector<Note> compute_notes(const LayerTrace& trace, const GpuDescription& gpu);

}  // namespace ddpsim
