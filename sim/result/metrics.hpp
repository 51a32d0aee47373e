#pragma once
// The numbers of one iteration, computed from its timeline. Their names and units are the result keys of
// docs/reference/results.md.
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/operation.hpp"
#include "sim/compute/memory.hpp"
#include "sim/ddp/reduction_plan.hpp"
#include "sim/result/iteration_spread.hpp"
#include "sim/result/loss_cause.hpp"
#include "sim/result/uncertainty.hpp"
#include "sim/strategy/strategy.hpp"
#include "sim/timeline/timeline.hpp"
#include "sim/trace/layer_trace.hpp"
#include "sim/variability/goodput.hpp"

namespace ddpsim {

// How a collective was carried out, where a model of the library chose it.
struct CollectiveChoice {
  std::string_view algorithm;  // "tree"
  std::string_view protocol;   // "ll128"
  int channels = 0;
  std::string_view times;  // where its time comes from: "calibrated"
};

// One collective. Times count from the start of the (last) backward pass.
struct BucketMetrics {
  std::size_t index = 0;
  Bytes bytes;
  std::size_t n_gradients = 0;
  Seconds ready, start, end;
  std::optional<CollectiveChoice> choice = {};
  Bytes wire = bytes;  // what is all-reduced: less where a hook compresses
};

// All collectives of an operation on an axis of ranks.
struct OperationMetrics {
  std::string axis;
  Operation operation{};
  std::size_t count = 0;
  Bytes bytes = {};
  Seconds busy = {}, exposed = {};  // in flight; while compute waited
};

// Of a transformer, wherever its parameters are; active: of those a token meets.
struct ModelSize {
  std::int64_t parameters = 0, active = 0;
};

// Of a GPU, for a model whose operations are counted.
struct ComputeRates {
  FlopsPerSecond model;     // of forward and backward
  FlopsPerSecond hardware;  // and of what is computed again
  FlopsPerSecond peak;
  [[nodiscard]] double mfu() const { return model.value() / peak.value(); }
  [[nodiscard]] double hfu() const { return hardware.value() / peak.value(); }
};

// What a GPU's memory holds, and the keys of results.
struct MemoryPart {
  std::string_view name, key;
  Bytes MemoryParts::*bytes;
};
inline constexpr std::array kMemoryParts{
    MemoryPart{"parameters", "parameters_bytes", &MemoryParts::parameters},
    MemoryPart{"gradients", "gradients_bytes", &MemoryParts::gradients},
    MemoryPart{"optimizer", "optimizer_bytes", &MemoryParts::optimizer},
    MemoryPart{"activations", "activations_bytes", &MemoryParts::activations},
    MemoryPart{"buckets", "buckets_bytes", &MemoryParts::buckets},
    MemoryPart{"workspaces", "workspaces_bytes", &MemoryParts::workspaces},
    MemoryPart{"other", "other_bytes", &MemoryParts::other}};

// Of a GPU, where the model says what it keeps.
struct MemoryMetrics {
  MemoryParts parts;
  Bytes capacity;
  std::string gpu;                   // its name
  std::optional<Bytes> others = {};  // the peak of all GPUs but 0, where that one holds more
  [[nodiscard]] Fit fit() const { return fit_of(parts.peak(), capacity); }
  [[nodiscard]] bool fits() const { return fit() == Fit::yes; }
};

// Workers that wait for no other one. Staleness: how many updates of others the servers apply between a
// worker's pull and its own update.
struct AsynchronousMetrics {
  double updates_per_s = 0;
  double mean_staleness = 0;  // over all updates
  double most_staleness = 0;  // of the slowest worker's
};

// GPUs that share a copy of the model.
struct SharedModelMetrics {
  int tensor = 1, pipeline = 1, data = 1, context = 1;
  [[nodiscard]] int of_a_model() const { return tensor * context * pipeline; }
  std::string schedule;
  int chunks = 1, micro_batches = 1;
  struct Stage {
    std::int64_t layers = 0;
    MemoryParts memory;
  };
  std::vector<Stage> stages;  // by rank of the pipeline
  int expert = 1;             // ranks that share a block's experts
  double expert_load = 1;     // tokens of the one with most over the mean
};

struct IterationMetrics {
  int world_size = 0;
  std::optional<SharedModelMetrics> shared_model = {};
  std::optional<AsynchronousMetrics> asynchronous;
  int group_size = 0;  // ranks that reduce with the reported one, itself included
  const Strategy* strategy = &usual_strategy();
  std::optional<Bytes> bucket_cap;
  std::optional<Bytes> first_bucket_cap;  // where it differs from bucket_cap
  std::size_t n_buckets = 0;
  CommHook comm_hook = CommHook::none;
  // iteration = forward + backward_compute + interference + overhead + bubble + exposed_communication +
  // optimizer, all of the rank that finishes last; with accumulation, of all micro-batches of the step. What
  // a tensor-parallel group exchanges is in the two passes, and in `operations`.
  Seconds forward, backward_compute, interference, overhead, exposed_communication, optimizer, iteration;
  int micro_batches = 1;  // accumulated in a step
  [[nodiscard]] Seconds micro_batch() const { return iteration / micro_batches; }
  Seconds bubble = {};  // waiting for another stage of a pipeline, while nothing is communicated
  // By cause: iteration minus forward and backward at the usual speed.
  std::vector<Loss> losses = {};
  [[nodiscard]] Seconds lost_to(LossCause cause) const;
  // Of them, what would be gone without communication: waits, what it takes from compute, copies and
  // launches.
  [[nodiscard]] Seconds communication_cost() const;
  Seconds tail;  // exposed_communication and what is done to gradients after their all-reduce
  std::shared_ptr<const Uncertainty> uncertainty =
      nullptr;  // of `iteration`; null: nothing is in doubt, or asked
  // Where iterations differ: the terms are those of one of them.
  std::optional<IterationSpread> spread = std::nullopt;
  Seconds communication;  // while a collective is in flight: one after the other the sum of their times
  std::optional<Seconds> construction_broadcast =
      {};                    // once, of no iteration: parameters and buffers, when DDP is built
  Seconds buffer_broadcast;  // of exposed_communication and `communication`: before forward
  std::string algorithm, fidelity;
  std::string nccl_version;  // whose model says what collectives take: "2.30.7"; empty: none's
  std::string network;       // who shared its links out: "alone" where there was nothing to share, "simgrid"
  std::int64_t simulated_flows = 0;  // that it carried
  // All bytes over the time in flight, without broadcasts; busbw weighs each operation's bytes as nccl-tests
  // does, 2(n-1)/n of the group's n for an all-reduce.
  BytesPerSecond algbw, busbw;
  std::optional<double> samples = {};   // of an iteration of the reported group
  std::optional<double> samples_per_s;  // of the reported group; where the trace has a batch size
  std::optional<double> tokens_per_s =
      std::nullopt;  // of the reported group; where the trace has a sequence length
  std::optional<ComputeRates> compute = std::nullopt;
  std::optional<ModelSize> model = std::nullopt;
  std::optional<MemoryMetrics> memory = std::nullopt;
  std::optional<double> price = std::nullopt;  // of a GPU and hour
  std::optional<double> training_tokens = std::nullopt;
  std::optional<Goodput> goodput = std::nullopt;  // where GPUs fail: of all those of gpus()
  // Those whose samples are counted, with the GPUs that share their models.
  [[nodiscard]] int gpus() const { return group_size * (shared_model ? shared_model->of_a_model() : 1); }
  [[nodiscard]] double cost_per_step() const { return *price * world_size * iteration.value() / 3600; }
  [[nodiscard]] double cost_per_million_tokens() const {
    return *price * gpus() / 3600 / *tokens_per_s * 1e6;
  }
  // Of the whole training, with what failures lose; none: nobody says how long it is, or what a token takes.
  [[nodiscard]] std::optional<double> training_days() const {
    if (!training_tokens || !tokens_per_s) return std::nullopt;
    return *training_tokens / *tokens_per_s / (goodput ? goodput->share : 1) / 86400;
  }
  [[nodiscard]] std::optional<double> training_cost() const {
    auto days = training_days();
    return days && price ? std::optional(*price * gpus() * 24 * *days) : std::nullopt;
  }
  std::optional<double>
      scaling_efficiency;  // throughput a GPU against one GPU alone, which does not communicate
  std::vector<BucketMetrics> buckets;
  std::vector<OperationMetrics> operations = {};  // what was communicated, by axis and operation
  std::optional<BucketMetrics>
      used_parameter_bitmap;  // ready with the last gradient; its index and n_gradients are 0
  // Where the times of the collectives come from, each source once; empty where nothing was chosen.
  std::vector<std::string_view> sources_of_times = {};
  std::optional<std::string> trace_synthetic = {};  // its synthetic_mark()
  int reported_rank = 0;                            // the rank these terms belong to
  double slowdown = 1;                              // its compute times over the trace's
  int collective_workers = 1;                       // collectives of a group that may be in flight at once
};

// Whom a communicator of the program joins.
struct CommunicatorRanks {
  std::string axis = "data";
  int ranks = 0;
};

// What the timeline itself does not say.
struct IterationContext {
  const LayerTrace& trace;
  const ReductionPlan& plan;
  int world_size = 0;
  std::string algorithm;  // "ring", "measured"
  std::string fidelity;   // "lazy", ...
  int collective_workers = 1;
  const Strategy* strategy = &usual_strategy();
  bool is_asynchronous = false;                       // workers of parameter servers that wait for no other
  std::vector<CommunicatorRanks> communicators = {};  // by the program's; empty: one, of the whole group
  bool has_stages = false;                            // of a pipeline, which wait for one another
  // Where GPUs share a copy of the model: the axis of each group of the communication (of recorded stages
  // too); and what is exchanged within passes, by stage: on the axes tensor and context.
  std::optional<SharedModelMetrics> shared_model = {};
  std::function<CommunicatorRanks(std::size_t group)> axis_of_group = nullptr;
  std::vector<std::vector<OperationMetrics>> within_passes = {};
  // Of a group's collective; none where nothing is chosen.
  std::function<CollectiveChoice(std::size_t group, Operation operation, Bytes bytes)> choice = nullptr;
};

// "fits", "may not fit" or "does not fit"; in a column "yes", "maybe" or "no".
std::string_view fit_word(Fit fit);
std::string_view fit_cell(Fit fit);
// "does not fit: 112.3 GB on NVIDIA H100 SXM5 80GB of 80 GB, 1.40 times its memory"
std::string fit_line(const MemoryMetrics& memory);

// Throws InternalError when nothing was communicated or the terms do not add up.
IterationMetrics measure(const Timeline& timeline, const IterationContext& context);

}  // namespace ddpsim
