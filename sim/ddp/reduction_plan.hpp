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

enum class Strategy {
  naive,     // one all-reduce per parameter, after backward, in registration order
  flat,      // one all-reduce per dtype, after backward
  overlap,   // one all-reduce per parameter, as it becomes ready
  ddp,       // PyTorch's buckets, as they become ready
  fsdp,      // PyTorch's fully_shard: units are gathered, and reduced and scattered
  fsdp1,     // PyTorch's FullyShardedDataParallel
  hsdp,      // fully_shard over two dimensions: sharded within groups of ranks, copied from group to group
  hsdp1,     // FullyShardedDataParallel's HYBRID_SHARD
  zero1,     // DeepSpeed's ZeRO: the optimizer is sharded,
  zero2,     // gradients too,
  zero3,     // and parameters
  megatron,  // its distributed optimizer
  data_parallel,    // torch.nn.DataParallel: one process, GPU 0 has the loss and the optimizer
  parameter_server  // gradients are pushed to servers and parameters pulled
};
inline constexpr Names<Strategy, 14> kStrategyNames{{{"naive", Strategy::naive},
                                                     {"flat", Strategy::flat},
                                                     {"overlap", Strategy::overlap},
                                                     {"ddp", Strategy::ddp},
                                                     {"fsdp", Strategy::fsdp},
                                                     {"fsdp1", Strategy::fsdp1},
                                                     {"hsdp", Strategy::hsdp},
                                                     {"hsdp1", Strategy::hsdp1},
                                                     {"zero1", Strategy::zero1},
                                                     {"zero2", Strategy::zero2},
                                                     {"zero3", Strategy::zero3},
                                                     {"megatron", Strategy::megatron},
                                                     {"data_parallel", Strategy::data_parallel},
                                                     {"parameter_server", Strategy::parameter_server}}};
// Whether a group of ranks holds all parameters, and other groups hold them again.
constexpr bool shards_within_groups(Strategy strategy) {
  return strategy == Strategy::hsdp || strategy == Strategy::hsdp1;
}
// Whether a rank updates a part of the parameters only, whatever else of it is sharded.
constexpr bool is_sharded(Strategy strategy) {
  switch (strategy) {
    case Strategy::naive:
    case Strategy::flat:
    case Strategy::overlap:
    case Strategy::ddp:
    case Strategy::data_parallel:
    case Strategy::parameter_server:
      return false;
    default:
      return true;
  }
}

constexpr bool is_fsdp1(Strategy strategy) {
  return strategy == Strategy::fsdp1 || strategy == Strategy::hsdp1;
}

// DeepSpeed partitions, fetches and waits on the host between its hooks; none of that time is modelled, and
// such steps come out too short by nobody knows how much. Stage 1 has little of it.
constexpr bool lacks_host_time(Strategy strategy) {
  return strategy == Strategy::zero2 || strategy == Strategy::zero3;
}
// DeepSpeed's that all-reduce gradients.
constexpr bool all_reduces_shards(Strategy strategy) {
  return strategy == Strategy::zero1 || strategy == Strategy::zero2;
}
// Whether every rank all-reduces all gradients, and steps.
constexpr bool all_reduces(Strategy strategy) {
  return !is_sharded(strategy) && strategy != Strategy::data_parallel &&
         strategy != Strategy::parameter_server;
}
// Whether GPUs may share the model that it reduces the gradients of.
constexpr bool can_share_models(Strategy strategy) {
  return is_sharded(strategy) || strategy == Strategy::ddp || strategy == Strategy::flat;
}
// Whether one chooses it for a run of today: not those that are there to compare with, nor the older of
// PyTorch's two implementations.
constexpr bool is_usual(Strategy strategy) {
  return can_share_models(strategy) && strategy != Strategy::flat && !is_fsdp1(strategy);
}
inline std::string_view strategy_name(Strategy strategy) {
  return name_in(kStrategyNames, strategy);
}
// Of all those for which it is so, in the order of the list.
template <class Is>
std::vector<std::string> strategies_that(Is is) {
  std::vector<std::string> names;
  for (auto [name, strategy] : kStrategyNames)
    if (is(strategy)) names.emplace_back(name);
  return names;
}

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
  Bytes wire = bytes;  // what is all-reduced: less than `bytes` where a hook compresses

  bool operator==(const Bucket& other) const {
    return bytes == other.bytes && dtype == other.dtype && wire == other.wire &&
           std::ranges::equal(gradients, other.gradients);
  }
};

enum class LaunchRule {
  when_ready,  // a bucket is launched when all its gradients are ready and every earlier bucket is launched
  after_backward,  // nothing is launched before the backward pass ends
};

struct ReductionPlan {
  Strategy strategy = Strategy::ddp;
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
ReductionPlan make_reduction_plan(const LayerTrace& trace, Strategy strategy, const DdpOptions& options);

// The plan of strategy ddp that the same options but for their bucket_cap give; it takes no longer than there
// are buckets.
ReductionPlan with_bucket_cap(ReductionPlan plan, DdpOptions options, Bytes cap);

// What the buckets' all-reduces carry: one of `wire` a bucket; of PowerSGD up to three.
std::vector<Bytes> all_reduces_of(const ReductionPlan& plan);

// Of what is all-reduced: the bucket's own dtype, or the hook's.
DType wire_dtype(const ReductionPlan& plan, const Bucket& bucket);

// Whether the order in which parameters were registered decides what is reduced when.
bool depends_on_registration(Strategy strategy, const DdpOptions& options);

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
