#pragma once
// Steps of a model whose layers are spread over the ranks of a pipeline, or that one rank holds: programs,
// one for each rank of the pipeline. What a strategy does with each chunk of layers is its own
// (data_axis.hpp). What blocks what follows Megatron-Core 0.16.1: pipeline_parallel/schedules.py,
// distributed/finalize_model_grads.py.
#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "sim/program/data_axis.hpp"
#include "sim/program/pipeline_schedule.hpp"

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

struct PipelinePlan {
  PipelineShape shape;
  MessageOverlap messages = MessageOverlap::blocking;
  Bytes message;                               // a rank's, from stage to stage
  std::vector<std::vector<ChunkTimes>> times;  // by rank and chunk
  std::vector<int> joined;                     // by communicator of the strategy: ranks of a group
  Bytes tied;                                  // gradients that first and last stage add up; none: 0
  bool meets = false;                          // all ranks before the step: the gradients' norm

  // Whether a part is reduced by several ranks.
  [[nodiscard]] bool reduces() const {
    return std::ranges::any_of(joined, [](int ranks) { return ranks > 1; });
  }
  [[nodiscard]] bool has_tied() const { return tied > Bytes(0) && shape.ranks > 1; }
};

// Who exchanges what: a direction between two ranks of the pipeline; a communicator of the strategy; the ends
// of the pipeline; all ranks.
struct PipelineChannel {
  enum class Kind { messages, strategy, ends, all };
  Kind kind = Kind::messages;
  int from = 0, to = 0;  // of messages
  PassKind pass = PassKind::forward;
  int chunk = 0;     // DualPipe's direction
  int strategy = 0;  // which one of its communicators
  // Whether it is traffic on links; else so few bytes that it takes their latency, and nobody meets it there.
  bool is_traffic = true;
  auto operator<=>(const PipelineChannel&) const = default;
};
// Of the whole pipeline, each once; none that one rank would have alone.
std::vector<PipelineChannel> pipeline_channels(const PipelinePlan& plan);
// What a channel's collective or message carries, where no strategy says it.
std::optional<Bytes> message_of(const PipelinePlan& plan, const PipelineChannel& channel);
// The program's communicators of a rank: which of them.
std::vector<std::size_t> channels_of_rank(const std::vector<PipelineChannel>& channels, int rank, int ranks);

// A strategy at work on a rank's chunk of layers.
using MakeAxis = std::function<std::unique_ptr<DataAxis>(StepBuilder& step, int rank, int chunk)>;

// By rank of the pipeline. The chunk's axis computes its passes; those of inputs' gradients alone take what
// `plan.times` says.
std::vector<StepProgram> pipeline_programs(const PipelinePlan& plan, const Overheads& overheads,
                                           const MakeAxis& make_axis);

}  // namespace ddpsim
