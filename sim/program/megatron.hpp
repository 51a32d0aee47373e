#pragma once
// Megatron's distributed optimizer: every rank computes with all of its parameters and updates a part of
// them.
//
// After param_and_grad_buffer.py and distributed_data_parallel.py of Megatron Core 0.12.1 (megatron/core/
// distributed): parameters are put into one buffer in the reverse of their registration, each aligned to 64
// elements, and cut into buckets of at least bucket_size elements, padded to a multiple of the ranks and of
// 128. In the last micro-batch a bucket is reduced and scattered when all of its gradients are there,
// whatever the others do. Parameters are gathered bucket by bucket in the next forward pass: the first as a
// module asks for it, each other as the one before is waited for (finish_param_sync). A step is one of many:
// the gathers in front of its forward pass are those of the step before.
#include <optional>

#include "sim/program/bucketed_plan.hpp"
#include "sim/program/module_passes.hpp"
#include "sim/program/physics.hpp"
#include "sim/program/program.hpp"

namespace ddpsim {

struct MegatronOptions {
  // Elements; absent: max(40e6, 1e6 x ranks). Without overlap_grad_reduce all are one bucket.
  std::optional<std::int64_t> bucket_size;
  bool overlap_grad_reduce = true;   // false: reduced one after the other after backward
  bool overlap_param_gather = true;  // false: gathered one after the other after the optimizer
  DType param_dtype = DType::bfloat16;
  std::optional<bool> grad_reduce_in_fp32;  // absent: unless parameters are float16
  bool operator==(const MegatronOptions&) const = default;
};

struct MegatronPlan : BucketedPlan {
  MegatronOptions options;
  std::vector<std::size_t> forward_order;  // buckets: the order in which they are gathered
  std::vector<ModulePass> forward;
};

MegatronPlan make_megatron_plan(const LayerTrace& trace, const MegatronOptions& options, int ranks);

// A bucket is divided by the ranks before it is reduced: overheads.passes.in of it. Gradients are added up in
// it by the kernels that compute them.
StepProgram step_program(const LayerTrace& trace, const MegatronPlan& plan, int accumulation_steps,
                         const Overheads& overheads);

}  // namespace ddpsim
