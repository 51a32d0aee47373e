#pragma once
// Which gradients are reduced together, and when each reduction may start: the rules of PyTorch
// DistributedDataParallel and of three hand-written baselines.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/names.hpp"
#include "sim/base/units.hpp"
#include "sim/ddp/compiled_graph.hpp"
#include "sim/ddp/power_sgd.hpp"
#include "sim/trace/layer_trace.hpp"

namespace ddpsim {

class TensorWalk;

// Who all-reduces the gradients of every rank.
enum class Reducer {
  naive,    // a loop: one all-reduce per parameter, after backward, in registration order
  flat,     // one all-reduce per dtype, after backward
  overlap,  // hooks: one all-reduce per parameter, as it becomes ready
  ddp,      // PyTorch's buckets, as they become ready
  none      // gradients are reduced otherwise
};

// Whose bucketing rules; "2.6" is {2, 6}.
struct TorchVersion {
  int major = 2;
  int minor = 6;
  auto operator<=>(const TorchVersion&) const = default;
};

enum class BucketRule {
  torch,                   // PyTorch's: a bucket closes once it holds its cap
  close_before_exceeding,  // of many hand-written ones: before it would hold more, walking parameters in
                           // reverse
};

enum class DdpIteration {
  first,   // before the buckets are rebuilt
  second,  // the same under static_graph, but launched as they become ready; steady without it
  steady,  // every later iteration
};

// What register_comm_hook() puts in place of the all-reduce: one of the bucket cast to 16 bits and back, or
// three of what PowerSGD makes of it.
enum class CommHook { none, fp16, bf16, power_sgd };

struct DdpOptions {
  BucketRule rule = BucketRule::torch;
  std::optional<Bytes> bucket_cap;        // absent: the version's default rule
  std::optional<Bytes> first_bucket_cap;  // given: overrides the version's rule
  std::vector<Bytes> bucket_caps;         // one cap per bucket, the last one repeated; excludes the two above
  int accumulation_steps = 1;             // micro-batches a step
  bool reduce_every_micro_batch = false;  // else all but the last run under no_sync
  bool gradient_as_bucket_view = false;
  bool find_unused_parameters = false;
  bool static_graph = false;
  bool set_last_bucket_cap = false;  // DDP_SET_LAST_BUCKET_CAP=1: the small bucket becomes the last one
  DdpIteration iteration = DdpIteration::steady;
  CommHook comm_hook = CommHook::none;
  PowerSgd power_sgd;                        // of that hook
  std::vector<std::int64_t> parameter_rows;  // first dimensions by gradient; empty: not known
  // torch.compile with its DDPOptimizer, which cuts the graph where buckets are full: all gradients of a
  // subgraph are ready at its end.
  bool compiled = false;
  // With `compiled`: of a head that is tied to the embedding, which the walk meets at both.
  Bytes tied_head;
  // Communicators that collectives go to by turns (_round_robin_process_groups).
  int process_groups = 1;
  // The model's buffers that are broadcast before a forward pass that synchronises, one size per broadcast.
  // Absent: the trace's; empty: none (broadcast_buffers=False).
  std::optional<std::vector<Bytes>> broadcast_buffers;
  TorchVersion torch;
  std::vector<std::string> unused_parameters;  // names of gradients that never arrive
  bool operator==(const DdpOptions&) const = default;
};

struct Bucket {
  std::span<const std::size_t> gradients;  // indices into LayerTrace::gradients, in the bucket's own order
  Bytes bytes;
  DType dtype = DType::float32;
  Bytes wire = bytes;       // what is all-reduced: less than `bytes` where a hook compresses
  bool of_experts = false;  // that ranks have a share of each: reduced by those with the same ones

  bool operator==(const Bucket& other) const {
    return bytes == other.bytes && dtype == other.dtype && wire == other.wire &&
           of_experts == other.of_experts && std::ranges::equal(gradients, other.gradients);
  }
};

enum class LaunchRule {
  when_ready,  // a bucket is launched when all its gradients are ready and every earlier bucket is launched
  after_backward,  // nothing is launched before the backward pass ends
};

struct ReductionPlan {
  Reducer reducer = Reducer::none;
  std::shared_ptr<const TensorWalk> walk;                 // over the gradients: buckets are ranges of it
  std::shared_ptr<const std::vector<std::size_t>> order;  // sharded: the same of units
  std::vector<Bucket> buckets;                            // in launch order
  LaunchRule launch = LaunchRule::when_ready;
  int accumulation_steps = 1;
  bool reduces_every_micro_batch = false;  // DDP without no_sync
  // The cap in force for most buckets (the last limit of the list); absent where no cap applies.
  std::optional<Bytes> bucket_cap;
  // The first bucket's, where it differs.
  std::optional<Bytes> first_bucket_cap;
  // find_unused_parameters: the extra all-reduce after the last bucket, one int32 a parameter. static_graph
  // has it in its first iteration, where it starts before the buckets, all of them after backward.
  std::optional<Bytes> used_parameter_bitmap;
  bool is_distributed_data_parallel = false;  // PyTorch's, which broadcasts; buckets written by hand do not
  CommHook comm_hook = CommHook::none;
  std::shared_ptr<const LowRankPlan> low_rank;          // where PowerSGD compresses in this iteration
  std::shared_ptr<const CompiledGraph> compiled_graph;  // where torch.compile cuts it
  // By gradient, the last one of its subgraph, with which it is ready; empty: each is ready by itself.
  std::vector<std::size_t> subgraph_end;
  int process_groups = 1;
  // Before forward, one after the other: the model's buffers (distributed.py: _sync_buffers).
  std::vector<Bytes> buffer_broadcasts;
  // Gradients that never arrive (indices); those in buckets are marked ready together with the first gradient
  // that does.
  std::vector<std::size_t> unused;

  bool operator==(const ReductionPlan&) const = default;
};

// Throws InputError for options that PyTorch itself refuses or that contradict each other (unknown unused
// parameter, unused parameters that hang DDP without find_unused_parameters, caps given twice, a cap of zero,
// nothing left to reduce).
ReductionPlan make_reduction_plan(const LayerTrace& trace, Reducer reducer, const DdpOptions& options);

// The plan of DistributedDataParallel that the same options but for their bucket_cap give; it takes no longer
// than there are buckets.
ReductionPlan with_bucket_cap(ReductionPlan plan, DdpOptions options, Bytes cap);

// What the buckets' all-reduces carry: one of `wire` a bucket; of PowerSGD up to three.
std::vector<Bytes> all_reduces_of(const ReductionPlan& plan);

// Of what is all-reduced: the bucket's own dtype, or the hook's.
DType wire_dtype(const ReductionPlan& plan, const Bucket& bucket);

// Whether the order in which parameters were registered decides what is reduced when.
bool depends_on_registration(Reducer reducer, const DdpOptions& options);

// The gradient (index) with which each bucket is complete: the last of it to arrive. Unused ones come with
// the first that does (reducer.cpp, autograd_hook). One entry a bucket.
std::vector<std::size_t> completing_gradients(const LayerTrace& trace, const ReductionPlan& plan);

// When all gradients of each bucket are ready, from the start of the backward pass; one entry a bucket.
std::vector<Seconds> bucket_ready_times(const LayerTrace& trace, const ReductionPlan& plan);

// What DDP broadcasts once, when it is constructed: parameters and buffers, in groups of about 250 MiB per
// dtype (distributed.py: _sync_module_states with broadcast_bucket_size); the buffers as they are broadcast
// later. Empty for all but PyTorch's DDP.
std::vector<Bytes> construction_broadcasts(const LayerTrace& trace, const ReductionPlan& plan);

}  // namespace ddpsim
