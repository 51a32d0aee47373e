#pragma once
// The keys `parallelism`, `pipeline`, `tensor`, `context`, `expert` and `batch`: how GPUs share a copy of the
// model.
#include <array>
#include <optional>
#include <vector>

#include "sim/base/note.hpp"
#include "sim/config/value.hpp"
#include "sim/engine/parallel_step.hpp"

namespace ddpsim {

// As they stand in a scenario.
inline constexpr std::array kParallelSections{"parallelism", "pipeline", "tensor",
                                              "context",     "expert",   "batch"};

// How many tokens experts get: as many each, or drawn.
struct ExpertSection {
  ExpertShape shape;                // without the load
  std::optional<double> imbalance;  // a Dirichlet distribution's concentration
  std::uint64_t seed = 1;
};

struct ParallelSection {
  int tensor = 1, pipeline = 1, context = 1;
  ContextKind context_kind = ContextKind::ring;
  ExpertSection expert;
  std::optional<int> data;  // none: what the world leaves
  bool sequence = false;
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  int chunks = 1, group = 0;
  std::optional<bool> overlaps_messages;  // none: where chunks are interleaved
  std::vector<std::int64_t> layers;       // by stage; empty: as many each
  std::optional<TensorOverlap> overlap;   // none: as the software does
  std::optional<double> hidden;
  std::optional<std::int64_t> global_batch;  // samples a step

  const config::Value *parallelism_value = nullptr, *pipeline_value = nullptr, *tensor_value = nullptr,
                      *context_value = nullptr, *expert_value = nullptr, *batch_value = nullptr;
  // Whether GPUs share a copy of the model.
  [[nodiscard]] bool splits_model() const {
    return of_a_model() > 1 || expert.shape.ranks > 1 || expert_value;
  }
  [[nodiscard]] int of_a_model() const { return tensor * context * pipeline; }
  [[nodiscard]] const SourceSpan& place() const { return parallelism_value->span; }
};

// Throws InputError.
ParallelSection read_parallel_section(const config::Value& root);

// Sections of axes that no GPUs are along.
std::vector<Note> unused_axes(const ParallelSection& section);

// `expert`, and `parallelism.expert`. Throws InputError.
ExpertSection read_expert_section(const config::Value* expert, const config::Value* degree);

// With how tokens spread over the model's experts, which may be worth a note. Throws InputError where they do
// not.
Parallelism with_experts(const ParallelSection& section, const Parallelism& degrees, const ModelStep& step,
                         int micro_batches, std::vector<Note>& notes);

// GPUs along the axes, of so many. Throws InputError where they are no such grid.
Parallelism degrees_of(const ParallelSection& section, int world_size);

// Micro-batches of each GPU, of `batch.global` (none: not given). Throws InputError.
std::optional<int> micro_batches_of(const ParallelSection& section, int data, std::int64_t micro_batch);

// How much is hidden: as the section says, else as the software's steps were measured; else, where the
// sequence is split, as Megatron-Core launches them. Throws InputError.
void settle_tensor_overlap(const ParallelSection& section, const Software& software,
                           const Parallelism& degrees, TensorCollectives& tensor);

// Which schedule the model's layers go through. Throws InputError where they do not.
ParallelOptions parallel_options(const ParallelSection& section, const Parallelism& degrees,
                                 const ModelStep& step, const DataAxis& axis, int micro_batches);

}  // namespace ddpsim
