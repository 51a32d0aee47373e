#pragma once
// The step of a rank that holds all of a model, or its part of every layer: naive, flat, overlap, and
// PyTorch's DistributedDataParallel.
#include <memory>

#include "sim/ddp/reduction_plan.hpp"
#include "sim/program/data_axis.hpp"
#include "sim/program/program.hpp"

namespace ddpsim {

// Copies and launches are where PyTorch's reducer has them: a gradient's hook and its copy into the bucket as
// it arrives (reducer.cpp, autograd_hook and mark_variable_ready_dense), the copy out of a bucket once its
// collective was waited for, bucket by bucket (finalize_backward). A flat buffer is filled after backward.
// Buckets of experts go to a communicator behind the plan's others.
std::unique_ptr<DataAxis> all_reduce_axis(const LayerTrace& trace, const ReductionPlan& plan,
                                          StepBuilder& step);

// From the broadcast of buffers to the optimizer; an op of no duration stands for an optimizer that takes
// none.
StepProgram data_parallel_program(const LayerTrace& trace, const ReductionPlan& plan,
                                  const Overheads& overheads);

// What a rank without slowdown computes before its last backward pass: all micro-batches but the last, and
// its forward pass.
Seconds compute_before_last_backward(const LayerTrace& trace, const ReductionPlan& plan);

}  // namespace ddpsim
