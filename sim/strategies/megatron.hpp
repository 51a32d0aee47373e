#pragma once
// Megatron's data parallelism, with its distributed optimizer, of which every rank computes with all of its
// parameters and updates a part of them, or without.
//
// After param_and_grad_buffer.py and distributed_data_parallel.py of Megatron Core 0.12.1 (megatron/core/
// distributed): parameters are put into one buffer in the reverse of their registration, each aligned to 64
// elements, and cut into buckets of at least bucket_size elements, padded to a multiple of the ranks and of
// 128. In the last micro-batch a bucket is reduced and scattered when all of its gradients are there,
// whatever the others do. Parameters are gathered bucket by bucket in the next forward pass: the first as a
// module asks for it, each other as the one before is waited for (finish_param_sync). A step is one of many:
// the gathers in front of its forward pass are those of the step before.
#include <optional>

#include "sim/strategies/bucketed_plan.hpp"

namespace ddpsim {

struct MegatronOptions {
  // Elements; absent: max(40e6, 1e6 x ranks). Without overlap_grad_reduce all are one bucket.
  std::optional<std::int64_t> bucket_size;
  bool distributed_optimizer = true;        // false: buckets are all-reduced, and every rank steps
  bool overlap_grad_reduce = true;          // false: reduced one after the other after backward
  bool overlap_param_gather = true;         // false: gathered one after the other after the optimizer
  std::optional<DType> param_dtype;         // absent: what is computed in
  std::optional<bool> grad_reduce_in_fp32;  // absent: unless parameters are float16
  [[nodiscard]] bool gathers_in_forward() const { return distributed_optimizer && overlap_param_gather; }
  bool operator==(const MegatronOptions&) const = default;
};

// A bucket is divided by the ranks before it is reduced: overheads.passes.in of it. Gradients are added up in
// it by the kernels that compute them.
struct MegatronPlan final : BucketedPlan {
  MegatronOptions options;
  std::vector<std::size_t> forward_order;  // buckets: the order in which they are gathered

  // All ranks gather as the step begins: where chunks are interleaved (training.py, align_param_gather).
  bool gathers_at_once = false;

  MegatronPlan(const PlanInput& input, const MegatronOptions& said);
  [[nodiscard]] bool needs_forward_ends() const override { return options.gathers_in_forward(); }
  [[nodiscard]] bool follows_registration() const override { return true; }
  [[nodiscard]] std::unique_ptr<DataAxis> at_work(const LayerTrace& trace, StepBuilder& step) const override;
  [[nodiscard]] HeldStates held(const HeldOf& of) const override;
  [[nodiscard]] std::vector<Note> notes(const PlanInput& input) const override;
};

}  // namespace ddpsim
