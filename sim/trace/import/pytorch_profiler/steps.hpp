#pragma once
// The training steps of a profile, and where in each the forward pass, the backward pass and the optimizer
// are. All on the CPU's side: ComputeStream says what that means for the GPU.
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/trace/import/pytorch_profiler/profile.hpp"

namespace ddpsim::pytorch_profiler {

struct Step {
  std::string name;              // "ProfilerStep#4"
  Time end;                      // of what belongs to its last backward pass: the step's, on the CPU
  std::optional<Span> recorded;  // all of it, where both of its ends were recorded
  std::optional<Time> forward_start;
  int forwards = 1;  // DistributedDataParallel.forward before its last backward pass; the last one counts
  Span backward;     // of its last backward pass: from its first node to its last
  std::span<const Node> nodes;              // that evaluate it
  std::vector<Accumulation> accumulations;  // at least one
  Time callbacks_end;           // until then the backward thread runs the callbacks that end a backward pass
  std::vector<Span> optimizer;  // its Optimizer.steps without what of the backward pass they hold; disjoint
  int backward_passes = 1;      // gradients are accumulated over this many
};

// Steps with a backward pass, by ProfilerStep# annotations, else by Optimizer.step, else the whole trace.
// Throws InputError when there is none, or when nothing says where one step ends and the next begins.
// `remarks` get what was left out.
std::vector<Step> find_steps(const Profile& profile, std::vector<std::string>& remarks);

}  // namespace ddpsim::pytorch_profiler
