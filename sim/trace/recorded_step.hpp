#pragma once
// A recorded step whose operators are timed, and what of it is a trace.
#include <memory>
#include <vector>

#include "sim/trace/layer_trace.hpp"
#include "sim/trace/recording.hpp"

namespace ddpsim {

struct RecordedStep {
  std::shared_ptr<const Recording> recording;
  std::vector<Seconds> times;  // by item; of an operator what it takes on its stream, of others nothing
};

// All micro-batches together: gradients when they come last, or (without DistributedDataParallel) when the
// backward pass of their module ends; without what DistributedDataParallel itself copies. `step` is all of
// it. Throws InputError where nothing is trained.
LayerTrace recorded_trace(std::shared_ptr<const RecordedStep> step);

}  // namespace ddpsim
