#include "sim/strategy/all_reduce_plan.hpp"

#include "sim/program/data_parallel.hpp"

namespace ddpsim {

std::unique_ptr<DataAxis> AllReducePlan::at_work(const LayerTrace& trace, StepBuilder& step) const {
  return all_reduce_axis(trace, plan, step);
}

// DistributedDataParallel keeps its buckets beside the gradients, unless those are views of them
// (reducer.cpp); a flat buffer does the same. PowerSGD keeps what its compression lost.
HeldStates AllReducePlan::held(const HeldOf& of) const {
  bool has_buckets =
      plan.reducer == Reducer::flat || (plan.reducer == Reducer::ddp && !of.gradients_are_views);
  bool keeps_errors = plan.low_rank && plan.low_rank->options.error_feedback;
  return {.buckets = (has_buckets + keeps_errors) * of.trace.bytes()};
}

}  // namespace ddpsim
