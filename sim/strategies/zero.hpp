#pragma once
// DeepSpeed's ZeRO 0, 1 and 2: every rank computes with all of its parameters and updates a part of them.
//
// After stage_1_and_2.py of DeepSpeed 0.16.9 (deepspeed/runtime/zero): a gradient is copied into the bucket
// as it arrives; before it would take the bucket beyond reduce_bucket_size elements, the bucket is
// all-reduced (allreduce_and_copy_with_multiple_ranks) and each rank keeps its slice; before 0.12.4 each
// slice is reduced to its owner (average_tensor: dist.reduce), half the bytes over each link. Without
// overlap_comm compute waits for that; with it for the one before (average_tensor:
// current_stream().wait_stream). ZeRO 2 reduces every micro-batch. ZeRO 1 reduces after the last one, and
// without overlap_comm not before its backward pass has ended, in the order of registration
// (reduce_gradients). After the optimizer's step on 1/n all parameters are gathered, in pieces
// (runtime/utils.py, all_gather_dp_groups).
//
// ZeRO 0 shards nothing (runtime/engine.py of 0.19.5, buffered_allreduce_fallback): after the last
// micro-batch's backward pass gradients are flattened in the order of registration, a bucket as its elements
// exceed 5e8 (MEMORY_OPT_ALLREDUCE_SIZE, whatever the configuration says), all-reduced and copied back, one
// after the other; every rank steps.
//
// With offload_optimizer a rank's slice of a reduced bucket is copied to the host, on the stream that reduces
// it and in float32 (async_inplace_copy_grad_to_fp32_buffer_from_gpu); under accumulation it is added up on
// the GPU, from the host and back in each micro-batch (async_accumulate_grad_in_cpu_via_gpu). The host steps
// 1/n, which is copied to the GPU in float32 and gathered.
#include <optional>

#include "sim/strategies/bucketed_plan.hpp"

namespace ddpsim {

// "0.16.9".
struct DeepSpeedVersion {
  int major = 0, minor = 0, patch = 0;
  auto operator<=>(const DeepSpeedVersion&) const = default;
};
// The one whose hooks were measured. `kCoalesced` (deepspeedai/DeepSpeed, pull request 1453): stage 3 gathers
// ahead of what it computes. `kMultiRank` (4695): stages 1 and 2 all-reduce buckets. From `kCounting` (7780)
// to before `kCountedOnce` (7886) each gradient's hook counts all parameters that take part.
inline constexpr DeepSpeedVersion kMeasuredVersion{0, 19, 8}, kCoalesced{0, 6, 0}, kMultiRank{0, 12, 4},
    kCounting{0, 18, 5}, kCountedOnce{0, 18, 7};
// Of jobs on GPUs of Volta, which say none: the release of the time that they were trained with, as their
// software's (software/apex-2019.yaml). Declared.
inline constexpr DeepSpeedVersion kVersionOfVolta{0, 3, 16};

std::string text_of(const DeepSpeedVersion& version);

// zero/config.py; element counts.
struct ZeroOptions {
  std::optional<DeepSpeedVersion> version;
  DeepSpeedVersion presumed = kMeasuredVersion;  // where none is said
  std::int64_t reduce_bucket_size = 500'000'000;
  std::int64_t allgather_bucket_size = 500'000'000;
  std::optional<bool> overlap_comm;   // absent: stage 3 does
  bool contiguous_gradients = true;   // false: no bucket is filled; each is flattened as it is reduced
  std::optional<DType> param_dtype;   // of the model, its gradients and what is gathered; absent: as computed
  std::optional<DType> reduce_dtype;  // communication_data_type; absent: the model's
  std::optional<DType> grad_accum_dtype;  // of the gradients a rank keeps (data_types); absent: the model's
  // To the host: the optimizer and the gradients that it steps; and, stage 3, parameters.
  bool offload_optimizer = false, offload_param = false;
  std::int64_t prefetch_bucket_size = 50'000'000;  // from here on stage 3
  std::int64_t max_live_parameters = 1'000'000'000;
  std::int64_t max_reuse_distance = 1'000'000'000;
  std::int64_t param_persistence_threshold = 100'000;
  [[nodiscard]] DeepSpeedVersion release() const { return version.value_or(presumed); }
  [[nodiscard]] bool reduces_to_owners() const { return release() < kMultiRank; }
  // A module of stage 3 gathers what it lacks, waits for it, and releases it.
  [[nodiscard]] bool gathers_in_turn() const { return release() < kCoalesced; }
  [[nodiscard]] bool counts_in_hooks() const { return release() >= kCounting && release() < kCountedOnce; }
  bool operator==(const ZeroOptions&) const = default;
};

// What hooks take of a host under DeepSpeed 0.19.8, launches of the model's kernels apart: geometric means
// over six passes of one rank of eight whose collectives did nothing (measurements/h100/deepspeed.csv: 32
// tokens of GPT-2 medium and Llama 1B, 4,096 of GPT-2 large; a module with parameters 0.69 to 1.07 ms, a
// gradient 0.09 to 0.27). What counting a parameter takes: pull request 7886, whose 147 parameters took 76 ms
// longer.
constexpr Seconds kModuleHook = Seconds(880e-6), kGradientHook = Seconds(180e-6),
                  kParameterHook = Seconds(60e-6), kSharedParameterHook = Seconds(200e-6),
                  kCount = Seconds(3.5e-6);
// By how much of what it computes a pass is longer whose hooks take so much of the host, which launches its
// kernels, too.
double host_wait(Seconds hooks, Seconds launches, Seconds computed);
// How many gradients and parameters have hooks: those that are trained.
double trained_tensors(const LayerTrace& trace);

// What its stages have in common.
struct ZeroPlanBase : BucketedPlan {
  ZeroOptions options;
  bool overlaps = false;                        // options.overlap_comm, or the stage's
  bool has_stages = false;                      // of a pipeline
  Seconds forward_launches, backward_launches;  // of a model's kernels, recomputation with backward

  // Of a rank's part, on the GPU or the host.
  [[nodiscard]] Seconds optimizer_time(const LayerTrace& trace) const;
  // What the optimizer's hooks take beyond it; all of it beside a step on the host.
  void wait_for_hooks(const LayerTrace& trace, StepBuilder& step) const;
  // Of parameters in the gradients' hooks of a backward pass.
  [[nodiscard]] Seconds counting(const LayerTrace& trace, const Hooks& hooks) const;
  // Of a rank's slice of so many reduced elements, to the host and, where they are added up, from it.
  struct MicroBatch {
    bool is_first, is_last;
    [[nodiscard]] bool is_only() const { return is_first && is_last; }
  };
  [[nodiscard]] Seconds offload_time(std::int64_t elements, const MicroBatch& of) const;
  [[nodiscard]] std::vector<Note> notes(const PlanInput& input) const override;
  [[nodiscard]] std::vector<StrategyTrial> trials(const TrialsOf& of) const override;

 protected:
  // Sizes besides the reductions': keys of the section `zero`.
  [[nodiscard]] virtual std::vector<std::pair<const char*, std::int64_t>> other_sizes() const = 0;
  void set(const PlanInput& input, const ZeroOptions& said);
  // What is kept of a parameter: gradients in the dtype they are added up in; offloaded ones leave with their
  // bucket, unless they are whole.
  [[nodiscard]] StateBytes kept_state(const Optimizer& optimizer, bool keeps_gradients) const;
  [[nodiscard]] Bytes largest_reduction() const;
  // Where there is a step.
  void take_launches(const ModelStep* step);
};

// A gradient's copy into its bucket is overheads.passes.in of it; flattening the bucket's slices and dividing
// them are two more, beside compute where reductions overlap it. A rank copies its slice back
// (overheads.passes.out).
struct ZeroPlan final : ZeroPlanBase {
  int stage = 1;
  struct Gather {
    Bytes bytes;
    bool of_experts;
  };
  std::vector<Gather> gathers;  // after the optimizer

  ZeroPlan(const PlanInput& input, int which, const ZeroOptions& said);
  [[nodiscard]] bool reduces_at_the_end() const { return stage <= 1 && !overlaps; }
  [[nodiscard]] bool follows_registration() const override { return reduces_at_the_end(); }
  [[nodiscard]] std::shared_ptr<const StrategyPlan> retimed(const LayerTrace&,
                                                            const ModelStep* step) const override;
  [[nodiscard]] std::unique_ptr<DataAxis> at_work(const LayerTrace& trace, StepBuilder& step) const override;
  [[nodiscard]] HeldStates held(const HeldOf& of) const override;

 protected:
  [[nodiscard]] std::vector<std::pair<const char*, std::int64_t>> other_sizes() const override {
    if (stage == 0) return {};
    return {{"allgather_bucket_size", options.allgather_bucket_size / 10}};
  }
};

// Of all stages.
class ZeroStrategy : public Strategy {
 public:
  ZeroStrategy(const StrategyTraits& its, int which) : Strategy(its), stage(which) {}
  const int stage;
  [[nodiscard]] static const ZeroOptions& options(const Sections& said) { return said.of<ZeroOptions>(); }
  [[nodiscard]] static ZeroOptions options(const StrategyChoice& choice) {
    auto options = choice.sections.of<ZeroOptions>();
    if (choice.architecture == "volta") options.presumed = kVersionOfVolta;
    return options;
  }
  [[nodiscard]] std::optional<DType> gathered(const Sections& said) const override {
    return options(said).param_dtype;
  }
  [[nodiscard]] bool offloads(const Sections& said) const override { return options(said).offload_optimizer; }
  void check_parts(const StrategyChoice& choice) const override;
  void check_stages(const StagesInput& input) const override;
};

}  // namespace ddpsim
