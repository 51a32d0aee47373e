#pragma once
// A step whose model is spread over GPUs: over those of a tensor-parallel group, and over the stages of a
// pipeline; and what the data axis does with each GPU's part of the gradients.
#include <span>
#include <vector>

#include "sim/compute/model_step.hpp"
#include "sim/compute/stage_times.hpp"
#include "sim/program/pipeline.hpp"
#include "sim/strategy/strategy.hpp"

namespace ddpsim {

// GPUs along each axis, Megatron's order: ranks of a tensor-parallel group follow one another, then those
// that share sequences, then those of the data axis, then stages.
struct Parallelism {
  int tensor = 1, data = 1, pipeline = 1;
  bool sequence = false;  // what is between a layer's products is split over the tensor-parallel group
  int context = 1;
  ContextKind context_kind = ContextKind::ring;
  ExpertShape expert = {};  // ranks that share experts follow one another, whatever else they share
  [[nodiscard]] int of_a_model() const { return tensor * context * pipeline; }
  // Ranks that reduce gradients of the same part of the layers: those of the data axis, each as often as it
  // shares sequences.
  [[nodiscard]] int reducing() const { return data * context; }
  // Of a stage; those of them that have the same experts.
  [[nodiscard]] int of_a_stage() const { return tensor * reducing(); }
  [[nodiscard]] int reducing_experts() const {
    return expert.ranks > 1 ? of_a_stage() / sharing_experts() : 1;
  }
  [[nodiscard]] int sharing_experts() const { return expert.ranks * expert.tensor; }
  auto operator<=>(const Parallelism&) const = default;
};

struct ParallelOptions {
  Parallelism degrees;
  PipelineShape shape;
  MessageOverlap messages = MessageOverlap::blocking;
  std::vector<std::int64_t> layers;  // by stage that a micro-batch passes
  StrategyChoice choice = {};
  // Ranks of a group of each of the strategy's communicators.
  [[nodiscard]] int joined(const CommunicatorUse& use) const;
  bool operator==(const ParallelOptions&) const = default;
};

// Of the GPUs of one rank of the pipeline.
struct ParallelStage {
  std::int64_t layers = 0, recomputed = 0;
  TensorPass tensor;  // in the whole step
  ContextPass context;
  ExpertPass expert;
  LinkUses on_links;  // by all three
  StageMemory held;
  double in_flight = 1;              // micro-batches, of all its layers
  std::vector<PipelineTask> order;   // what it computes
  std::vector<std::int64_t> chunks;  // their layers
  [[nodiscard]] MemoryParts memory() const { return held.peak(in_flight); }
};

// A GPU's chunk of the layers, and what the strategy makes of it.
struct ChunkPlan {
  LayerTrace trace;
  std::shared_ptr<const StrategyPlan> plan;
};

// What ranks that share experts exchange in a pass over a block, as its operation counts them; of those that
// more tokens come to than to others.
struct ExpertBytes {
  Bytes dispatch, combine, probabilities, counts, gathered = {};
};

struct ParallelStep {
  ParallelOptions options;
  PipelinePlan plan;
  // By rank of the pipeline and chunk; null: a chunk without parameters.
  std::vector<std::vector<std::shared_ptr<const ChunkPlan>>> chunks;
  std::vector<ParallelStage> stages;
  TensorCollectives tensor;
  ContextCollectives context;
  ExpertCollectives expert;
  ExpertBytes expert_bytes;
  Bytes queries, keys_values;  // of a GPU and micro-batch, in 16 bits or what is computed in
  Bytes hidden_values;         // of a micro-batch: what tensor-parallel collectives carry
  Bytes small;                 // a float32 a token

  [[nodiscard]] const ParallelStage& fullest() const;
};

// What of a GPU's parts is trained.
TrainedParameters trained_of(std::span<const LayerTrace* const> traces, bool splits_experts);

// By rank of the pipeline: programs without buckets, which plan() knows nothing of.
std::vector<StepProgram> parallel_programs(const ParallelStep& step, const Overheads& overheads);

// A model's step as one GPU has it: its part of the sequences and of the layers.
ModelStep split_step(const ModelStep& step, const Parallelism& degrees);
// Of a GPU's part, in a micro-batch: queries, and keys with values.
std::pair<Bytes, Bytes> attention_inputs(const ModelStep& split);

ExpertBytes expert_bytes(const ModelStep& split);

// `tensor`, `context`, `expert`: what one collective of such groups takes; `parts`: the model's. Throws
// InputError (without a place) where units are named that the model does not have.
ParallelStep make_parallel_step(const ModelStep& step, const ParallelOptions& options, KnownParts& parts,
                                const TensorCollectives& tensor, const ContextCollectives& context,
                                const ExpertCollectives& expert = {});

}  // namespace ddpsim
