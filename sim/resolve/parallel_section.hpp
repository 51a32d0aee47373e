#pragma once
// The keys `parallelism`, `pipeline`, `tensor`, `context`, `expert` and `batch`: how GPUs share a copy of the
// model.
#include <optional>
#include <vector>

#include "sim/base/note.hpp"
#include "sim/engine/parallel_step.hpp"
#include "sim/job/rows/table.hpp"

namespace ddpsim {

// How many tokens experts get: as many each, or drawn.
struct ExpertSection {
  ExpertShape shape;                // without the load
  std::optional<double> imbalance;  // a Dirichlet distribution's concentration
  std::uint64_t seed = 1;
};

struct ParallelSection {
  const GivenJob* given = nullptr;
  int tensor = 1, pipeline = 1, context = 1;
  ContextKind context_kind = ContextKind::ring;
  ExpertSection expert;
  std::optional<int> data;  // none: what the world leaves
  bool sequence = false;
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  int chunks = 1, group = 0;
  std::optional<bool> overlaps_messages;  // none: where chunks are interleaved
  std::optional<TensorOverlap> overlap;   // none: as the software does
  std::optional<double> hidden;
  std::optional<std::int64_t> global_batch;  // samples a step
  // Whether GPUs share a copy of the model.
  [[nodiscard]] bool splits_model() const { return given->job.splits_model(); }
  [[nodiscard]] int of_a_model() const { return tensor * context * pipeline; }
  [[nodiscard]] const SourceSpan& place() const { return given->at("parallelism"); }
  // Of a section, or where there is none of `parallelism`.
  [[nodiscard]] const SourceSpan& place_of(const char* section) const {
    return given->has(section) ? given->at(section) : place();
  }
};

// `given` outlives it. Throws InputError.
ParallelSection read_parallel_section(const GivenJob& given);

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
                                 const ModelStep& step, int micro_batches);

}  // namespace ddpsim
