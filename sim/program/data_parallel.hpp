#pragma once
// The step of a rank that holds all of a model, or its part of every layer: naive, flat, overlap, and
// PyTorch's DistributedDataParallel.
#include <optional>
#include <vector>

#include "sim/ddp/reduction_plan.hpp"
#include "sim/program/physics.hpp"
#include "sim/program/program.hpp"

namespace ddpsim {

// From the broadcast of buffers to the optimizer; an op of no duration stands for an optimizer that takes
// none. Copies and launches are where PyTorch's reducer has them: a gradient's hook and its copy into the
// bucket as it arrives (reducer.cpp, autograd_hook and mark_variable_ready_dense), the copy out of a bucket
// once its collective was waited for, bucket by bucket (finalize_backward). A flat buffer is filled after
// backward.
StepProgram data_parallel_program(const LayerTrace& trace, const ReductionPlan& plan,
                                  const Overheads& overheads);

// What a rank without slowdown computes before its last backward pass: all micro-batches but the last, and
// its forward pass.
Seconds compute_before_last_backward(const LayerTrace& trace, const ReductionPlan& plan);

}  // namespace ddpsim
