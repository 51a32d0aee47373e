#pragma once
// DeepSpeed's ZeRO 3: parameters are sharded too, and gathered module by module.
//
// After stage3.py and partitioned_param_coordinator.py of DeepSpeed 0.16.9 (deepspeed/runtime/zero): what a
// module lacks is gathered as it is reached, then what comes next, prefetch_bucket_size elements and more, as
// long as no more than max_live_parameters are live; gradients are reduced and scattered in buckets of
// reduce_bucket_size elements. Before 0.6 (fetch_sub_module of 0.3.16) nothing was gathered ahead and the
// host waited for each gather (torch.cuda.synchronize, a norm of each parameter): gathers, hooks and compute
// take turns, and recomputation gathers once more. With overlap_comm, as it is by default, compute waits with
// a bucket until the one three before it is reduced (max_param_reduce_events), without it for the bucket
// itself. Parameters of no more than param_persistence_threshold elements are kept and gathered once, after
// the optimizer
// (_post_step). What is offloaded to the host: gradients as in stages 1 and 2; what is stepped comes back in
// the model's dtype (_reassign_or_swap_out_partitioned_parameters), unless parameters are offloaded, too:
// then a rank's part is copied to the GPU before each gather. One communicator. The host is taken to be where
// compute is: a gather starts no sooner than the module that issues it.
#include "sim/strategies/zero3_gathers.hpp"

namespace ddpsim {

// What was gathered is put together on the compute lane (overheads.passes.out), and so are gradients put into
// the buffer that is reduced (overheads.passes.in).
struct Zero3Plan final : ZeroPlanBase {
  std::vector<ModulePass> forward, backward;
  GatherSchedule schedule;
  int hooks_of_backward = 1;  // of a module: recomputation has those of the forward pass again

  Zero3Plan(const PlanInput& input, const ZeroOptions& said);
  [[nodiscard]] bool needs_forward_ends() const override { return true; }
  [[nodiscard]] std::shared_ptr<const StrategyPlan> retimed(const LayerTrace& trace,
                                                            const ModelStep* step) const override;
  [[nodiscard]] std::unique_ptr<DataAxis> at_work(const LayerTrace& trace, StepBuilder& step) const override;
  [[nodiscard]] HeldStates held(const HeldOf& of) const override;

 protected:
  [[nodiscard]] std::vector<std::pair<const char*, std::int64_t>> other_sizes() const override {
    return {{"prefetch_bucket_size", 2 * options.prefetch_bucket_size},
            {"prefetch_bucket_size", options.prefetch_bucket_size / 2}};
  }
};

}  // namespace ddpsim
