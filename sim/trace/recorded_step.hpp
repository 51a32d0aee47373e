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
// backward pass of their module ends; without what DistributedDataParallel itself copies. Of the first of
// `steps`, each of another rank of the job; they are all of it. Throws InputError where nothing is trained.
LayerTrace recorded_trace(std::vector<std::shared_ptr<const RecordedStep>> steps);

}  // namespace ddpsim
