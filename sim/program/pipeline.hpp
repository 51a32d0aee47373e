#pragma once
// Steps of a model whose layers are spread over the ranks of a pipeline, or that one rank holds, with what is
// reduced over the data axis once all micro-batches are through: programs, one for each rank of the pipeline.
// What blocks what follows Megatron-Core 0.16.1: pipeline_parallel/schedules.py,
// distributed/finalize_model_grads.py.
#include "sim/base/units.hpp"
#include "sim/program/physics.hpp"
#include "sim/program/pipeline_schedule.hpp"
#include "sim/program/program.hpp"

namespace ddpsim {

// How activations and their gradients travel between neighbours. Overlapped: sent as they are there, received
// before they are needed. Blocking: a rank computes nothing while a message that it sends or receives is
// under way (1F1B). Fused: likewise, and in steady state both outputs of a forward and a backward pass, and
// both inputs of the next two, go in one call (interleaved without overlap_p2p_comm).
enum class MessageOverlap { overlapped, blocking, fused };
inline constexpr Names<MessageOverlap, 3> kMessageOverlapNames{{{"overlapped", MessageOverlap::overlapped},
                                                                {"blocking", MessageOverlap::blocking},
                                                                {"fused", MessageOverlap::fused}}};

// Of a micro-batch through a chunk of layers. Recomputation comes before the input's gradient.
struct ChunkTimes {
  Seconds forward, recompute, input_gradient, weight_gradient;
  bool operator==(const ChunkTimes&) const = default;
};

// Gradients of a chunk that are reduced together, and the parameters that are gathered after their step.
struct ReducedPart {
  double ready = 1;  // share of the chunk's last backward pass after which they are there
  Bytes gradients, parameters;
  bool of_experts = false;  // of which ranks have a share each: reduced by fewer
  bool operator==(const ReducedPart&) const = default;
};

struct PipelinePlan {
  PipelineShape shape;
  MessageOverlap messages = MessageOverlap::blocking;
  Bytes message;                               // a rank's, from stage to stage
  std::vector<std::vector<ChunkTimes>> times;  // by rank and chunk
  std::vector<std::vector<std::vector<ReducedPart>>>
      reduced;                                  // by rank and chunk, in the order they are ready
  int data = 1;                                 // ranks that reduce
  int expert_data = 1;                          // that reduce experts
  int replicas = 1;                             // groups of them, which add up what each reduced
  Operation reduction = Operation::all_reduce;  // or reduce_scatter
  bool overlaps_reduction = true;               // with the last backward pass; else after it
  bool gathers = false;                         // parameters, of which each rank steps a part
  bool overlaps_gather = false;                 // in the next forward pass; else after the step
  bool gathers_in_turn = false;                 // the first forward pass waits for a part as it comes to it
  Bytes tied;                                   // gradients that first and last stage add up; none: 0
  bool meets = false;                           // all ranks before the step: the gradients' norm
  std::vector<Seconds> optimizer;               // by rank

  [[nodiscard]] bool has_data_axis() const { return data > 1; }
  [[nodiscard]] bool has_expert_axis() const { return expert_data > 1; }
  [[nodiscard]] int ranks_of(const ReducedPart& part) const { return part.of_experts ? expert_data : data; }
  [[nodiscard]] bool is_reduced(const ReducedPart& part) const { return ranks_of(part) > 1 || replicas > 1; }
  [[nodiscard]] bool reduces() const { return has_data_axis() || has_expert_axis() || replicas > 1; }
  [[nodiscard]] bool has_tied() const { return tied > Bytes(0) && shape.ranks > 1; }
};

// Who exchanges what: a direction between two ranks of the pipeline; the data axis; those of it with the
// same experts; those with the same shard; the ends of the pipeline; all ranks.
struct PipelineChannel {
  enum class Kind { messages, data, experts, replicas, ends, all };
  Kind kind = Kind::messages;
  int from = 0, to = 0;  // of messages
  PassKind pass = PassKind::forward;
  int chunk = 0;  // DualPipe's direction
  // Whether it is traffic on links; else so few bytes that it takes their latency, and nobody meets it there.
  bool is_traffic = true;
  auto operator<=>(const PipelineChannel&) const = default;
};
// Of the whole pipeline, each once.
std::vector<PipelineChannel> pipeline_channels(const PipelinePlan& plan);
// The most that a channel's collective or message carries.
Bytes largest_message(const PipelinePlan& plan, const PipelineChannel& channel);
// The program's communicators of a rank: which of them.
std::vector<std::size_t> channels_of_rank(const std::vector<PipelineChannel>& channels, int rank, int ranks);

// By rank of the pipeline.
std::vector<StepProgram> pipeline_programs(const PipelinePlan& plan, const Overheads& overheads);

}  // namespace ddpsim
