#pragma once
// PyTorch's Fully Sharded Data Parallel: every rank holds a shard of each unit's parameters, gathers a unit
// before its forward and its backward pass, and reduces and scatters its gradients after the latter.
//
// `fsdp` is FSDP2 (torch.distributed.fsdp.fully_shard; _fsdp_param_group.py, _fsdp_collectives.py of
// PyTorch 2.6): the gather of a unit is issued as the unit two before it starts its forward pass (its copy
// out of the gathered buffer is over), that of the next backward pass as this one starts; compute waits for
// the last reduce-scatter before it copies the next gradients in; the root stays gathered from forward to
// backward, and so does the last block. `fsdp1` is FullyShardedDataParallel (_runtime_utils.py): the host
// waits with the gather of a unit until the forward pass of the one two before it has ended
// (limit_all_gathers), and nothing waits for reduce-scatters before the end. Both have one communicator, on
// which collectives run in launch order; reduce-scatters can have another one.
//
// `hsdp` and `hsdp1` are the same with shards within groups of ranks only: a unit's reduce-scatter is
// followed by an all-reduce of a rank's shard of it over the ranks that hold the same one, on a communicator
// of its own. Only the optimizer waits for it (_fsdp_collectives.py: foreach_reduce; FSDP1: HYBRID_SHARD).
#include <optional>

#include "sim/ddp/reduction_plan.hpp"
#include "sim/program/physics.hpp"
#include "sim/program/program.hpp"
#include "sim/program/shard_units.hpp"

namespace ddpsim {

struct FsdpOptions {
  UnitRule units;
  bool reshard_after_forward = true;     // false: gathered once a micro batch (fsdp1: SHARD_GRAD_OP)
  DType param_dtype = DType::bfloat16;   // what is gathered, and gradients before they are cast
  DType reduce_dtype = DType::float32;   // what is reduced
  bool reduce_every_micro_batch = true;  // false: after the last one only (set_requires_gradient_sync)
  int communicators = 1;                 // 2: reduce-scatters run beside all-gathers
  std::optional<int> shard_group;        // ranks; none: those of a node
  bool operator==(const FsdpOptions&) const = default;
};

struct FsdpPlan {
  Strategy strategy = Strategy::fsdp;
  FsdpOptions options;
  int shards = 1;    // ranks that hold the parameters together
  int replicas = 1;  // groups of them
  std::vector<ShardUnit> units;
  [[nodiscard]] Bytes gathered(std::size_t unit) const;  // by the all-gather, of all ranks
  [[nodiscard]] Bytes reduced(std::size_t unit) const;   // by the reduce-scatter, of all ranks
};

FsdpPlan make_fsdp_plan(const LayerTrace& trace, Strategy strategy, const FsdpOptions& options, int shards,
                        int replicas = 1);

// What is reduced, as other strategies have it: a bucket a unit, in launch order.
ReductionPlan reduction_plan(const LayerTrace& trace, const FsdpPlan& plan, int accumulation_steps);

// The optimizer steps on a rank's shard only. A gathered unit is copied out of its buffer, gradients are
// copied (and cast) into the buffer that is reduced: overheads.passes.out and .in of them.
StepProgram step_program(const LayerTrace& trace, const FsdpPlan& plan, int accumulation_steps,
                         const Overheads& overheads);

}  // namespace ddpsim
