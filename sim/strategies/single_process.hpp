#pragma once
// torch.nn.DataParallel: one process drives all GPUs of a machine. In each micro-batch inputs are scattered,
// the parameters of GPU 0 are broadcast to replicas that live as long as the pass, outputs are gathered on
// GPU 0, where the loss is, and the replicas' gradients are added up there. GPU 0 alone has an optimizer.
//
// After torch/nn/parallel of PyTorch 2.6 (data_parallel.py, replicate.py, parallel_apply.py, _functions.py):
// all parameters are one autograd function, Broadcast, so that no replica computes before all are there, and
// no gradient is reduced before the backward pass of all replicas has ended. Both go in pieces: broadcast
// ones close at 10 MiB (comm.py: buffer_size; tensor_flatten.cpp: take_tensors), reduced ones before they
// would exceed it (_utils.py: _take_tensors). Gradients are added, not divided: the loss is a mean over all.
// Forward passes are launched by one thread a replica, which share Python's interpreter lock, one after the
// other; backward passes by autograd's own threads, one a GPU, which run without it.
#include "sim/strategy/strategy.hpp"

namespace ddpsim {

// Of one replica's micro-batch.
struct SingleProcessOptions {
  Bytes inputs, outputs;  // what is scattered from the host and gathered on GPU 0
  Seconds loss;           // of these outputs, forward and backward; GPU 0 computes those of the others too
  Seconds host_forward;   // to launch its forward pass
  bool operator==(const SingleProcessOptions&) const = default;
};

// GPU 0's program; the other GPUs' lacks the losses, outputs and the optimizer (StepProgram::others). A piece
// is flattened before it is sent: overheads.passes.in of it.
struct SingleProcessPlan final : StrategyPlan {
  SingleProcessOptions options;
  int replicas = 2;
  Seconds scatter;                                   // of the inputs
  Seconds gather;                                    // of the outputs, and of their gradients back
  std::vector<std::vector<std::size_t>> broadcasts;  // gradients whose parameters go together
  std::vector<std::vector<std::size_t>> reduced;

  SingleProcessPlan(const LayerTrace& trace, const SingleProcessOptions& of_one, int how_many);
  [[nodiscard]] ReductionPlan reductions(const LayerTrace& trace, int accumulation_steps) const override;
  [[nodiscard]] StepProgram program(const LayerTrace& trace, int accumulation_steps,
                                    const Overheads& overheads) const override;
  [[nodiscard]] HeldStates held(const HeldOf& of) const override;
  [[nodiscard]] std::vector<Note> notes(const PlanInput& input) const override;
  [[nodiscard]] bool follows_registration() const override { return true; }
};

}  // namespace ddpsim
