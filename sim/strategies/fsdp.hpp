#pragma once
// PyTorch's Fully Sharded Data Parallel: every rank holds a shard of each unit's parameters, gathers a unit
// before its forward and its backward pass, and reduces and scatters its gradients after the latter.
//
// `fsdp` is FSDP2 (torch.distributed.fsdp.fully_shard; _fsdp_param_group.py, _fsdp_collectives.py): in the
// forward pass a gather waits for the copy out of the gathered buffer of the unit two before, in the backward
// pass for the last such copy; compute waits for the last reduce-scatter before it copies the next gradients
// in; the root stays gathered from forward to backward, and so does the last block unless reshard_last.
// `fsdp1` is FullyShardedDataParallel (_runtime_utils.py): gathers wait for nothing on the GPU; the host
// waits with them until units freed before are free (limit_all_gathers), in the steady state for the unit
// three before; nothing waits for reduce-scatters before the end. Both have one communicator, on which
// collectives run in launch order; reduce-scatters can have another one.
//
// `hsdp` and `hsdp1` are the same with shards within groups of ranks only: a unit's reduce-scatter is
// followed by an all-reduce of a rank's shard of it over the ranks that hold the same one, on a communicator
// of its own. Only the next micro batch and the optimizer wait for it (_fsdp_collectives.py: foreach_reduce;
// FSDP1: HYBRID_SHARD).
//
// With cpu_offload shards, their gradients and the optimizer are the host's: a shard is copied to the GPU
// before each gather, on its stream (_fsdp_param.py: all_gather_inputs), a shard of gradients to the host
// after its reduce-scatter, on that one's stream (foreach_reduce), both in the gradients' own dtype.
//
// The host is ahead of the GPU wherever FSDP does not make it wait: a loop that reads the loss before
// backward loses what the last gathers of forward and the first of backward hide. tests/strategies/recorded
// holds what PyTorch 2.6 and 2.15 launch.
#include "sim/program/shard_units.hpp"
#include "sim/strategy/strategy.hpp"

namespace ddpsim {

struct FsdpOptions {
  UnitRule units;
  bool reshard_after_forward = true;     // false: gathered once a micro batch (fsdp1: SHARD_GRAD_OP)
  bool reshard_last = false;             // fsdp, hsdp: the last unit too; fsdp1, hsdp1 always do
  std::optional<DType> param_dtype;      // what is gathered; none: what is computed in
  std::optional<DType> reduce_dtype;     // what is reduced; none: float32, of fsdp1 what is gathered
  bool reduce_every_micro_batch = true;  // false: after the last one only (set_requires_gradient_sync)
  int communicators = 1;                 // 2: reduce-scatters run beside all-gathers
  std::optional<int> shard_group;        // ranks; none: those of a node
  bool cpu_offload = false;              // CPUOffloadPolicy; fsdp1, hsdp1: CPUOffload(offload_params=True)
  bool operator==(const FsdpOptions&) const = default;
};

// fully_shard, or FullyShardedDataParallel.
enum class FsdpKind { fsdp2, fsdp1 };

// Of experts that ranks share each rank has some, whole: ranks with the same ones shard them, in a unit
// inside their block's (torchtitan, models/moe and llama4/infra/parallelize.py: fully_shard(experts, mesh=
// dp_mod_ep_mesh), and modules prefetched explicitly, as routing makes the host wait); all collectives of a
// kind are on one stream (FSDPCommContext).
//
// The optimizer steps on a rank's shard only. A gathered unit is copied out of its buffer, gradients are
// copied (and cast) into the buffer that is reduced: overheads.passes.out and .in of them.
struct FsdpPlan final : StrategyPlan {
  FsdpKind kind = FsdpKind::fsdp2;
  FsdpOptions options;
  DType param_dtype = DType::bfloat16, reduce_dtype = DType::float32;
  int shards = 1;    // ranks that hold the parameters together
  int replicas = 1;  // groups of them
  // Ranks that hold each expert together, where ranks share experts: those are units of their own.
  std::optional<int> expert_shards;
  std::vector<ShardUnit> units;
  Host host;                    // of cpu_offload
  bool holds_gathered = false;  // of stages: units, from the start of a step to its end
  void hold_gathered();
  [[nodiscard]] Bytes gathered(std::size_t unit) const;  // by the all-gather, of all ranks
  [[nodiscard]] Bytes reduced(std::size_t unit) const;   // by the reduce-scatter, of all ranks
  [[nodiscard]] int shards_of(std::size_t unit) const {
    return units[unit].of_experts ? expert_shards.value_or(1) : shards;
  }
  // As if so many ranks had a part each.
  [[nodiscard]] double ranks_that_step() const;

  // A bucket a unit.
  [[nodiscard]] ReductionPlan reductions(const LayerTrace& trace, int accumulation_steps) const override;
  [[nodiscard]] std::unique_ptr<DataAxis> at_work(const LayerTrace& trace, StepBuilder& step) const override;
  [[nodiscard]] std::size_t communicators() const override;
  [[nodiscard]] std::optional<DType> reduced_in() const override { return reduce_dtype; }
  [[nodiscard]] HeldStates held(const HeldOf& of) const override;
  [[nodiscard]] std::vector<Note> notes(const PlanInput& input) const override;
  [[nodiscard]] std::vector<StrategyTrial> trials(const TrialsOf& of) const override;
  [[nodiscard]] bool needs_forward_ends() const override { return true; }
};

// Of a model whose layers are computed in `computed`.
FsdpPlan make_fsdp_plan(const LayerTrace& trace, FsdpKind kind, const FsdpOptions& options, int shards,
                        int replicas = 1, DType computed = DType::bfloat16);

}  // namespace ddpsim
