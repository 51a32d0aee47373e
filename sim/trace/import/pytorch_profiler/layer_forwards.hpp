#pragma once
// When the forward pass of each gradient's layer was over.
#include <vector>

#include "sim/trace/import/pytorch_profiler/compute_stream.hpp"
#include "sim/trace/import/pytorch_profiler/steps.hpp"

namespace ddpsim::pytorch_profiler {

// By gradient, in the order of step.accumulations: the end, by ComputeStream::event, of the forward operator
// that the node which made the gradient has its sequence number from, or of the operator around that
// (aten::linear around aten::t and aten::addmm). Of a parameter used several times, the use whose node comes
// last, so the first. Empty where a gradient has none (reentrant checkpoints compute it again in the backward
// pass), or all have the same (a compiled graph is one operator).
std::vector<Time> layer_forwards(const Profile& profile, const Step& step, const ComputeStream& stream);

}  // namespace ddpsim::pytorch_profiler
