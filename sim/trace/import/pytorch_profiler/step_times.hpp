#pragma once
// The times of the recorded steps, summed up: a layer trace and the collectives beside it.
#include <optional>
#include <vector>

#include "sim/trace/import/pytorch_profiler/gradients.hpp"
#include "sim/trace/layer_trace.hpp"
#include "sim/trace/recorded_communication.hpp"

namespace ddpsim::pytorch_profiler {

enum class Statistic { mean, median };

// One step's times from the start of its backward pass, by ComputeStream::event.
struct StepTimes {
  std::optional<Seconds> forward, optimizer;
  std::optional<Seconds> whole;     // from one step's end to the next, where forward and optimizer are known
  std::optional<Seconds> left_out;  // of which neither forward, backward, all-reduces nor optimizer
  std::vector<Seconds> ready;
  std::vector<Seconds> forward_ends;  // from the start of the forward pass; empty where not known
  std::vector<RecordedCollective> collectives;
  double gpu_busy = 0;  // the share of the backward pass in which a kernel ran
};

// Throws InputError for times that no training step has: a million seconds and more.
StepTimes step_times(const MeasuredStep& step, const ComputeStream& stream);

// Gradients, forward and optimizer; metadata and registration order are left to the caller.
LayerTrace summarize(const std::vector<StepTimes>& steps, const MeasuredSteps& measured, Statistic statistic);

// Empty where the steps have no all-reduces or differ in them.
std::vector<RecordedCollective> summarize_collectives(const std::vector<StepTimes>& steps);

}  // namespace ddpsim::pytorch_profiler
