#pragma once
// In which order the ranks of a pipeline compute. Sources: Megatron-Core 0.16.1
// pipeline_parallel/schedules.py (1F1B :2088-2300, interleaved :773-825), PyTorch 2.15
// distributed/pipelining/schedules.py (zero bubble, ZB-H1: _get_1f1b_rank_ops with one stage a rank),
// DualPipe's dualpipe.py at bb214e8 (step).
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/base/names.hpp"

namespace ddpsim {

enum class PipelineSchedule { gpipe, one_f_one_b, interleaved, zero_bubble, dualpipe };
inline constexpr Names<PipelineSchedule, 5> kPipelineScheduleNames{
    {{"gpipe", PipelineSchedule::gpipe},
     {"1f1b", PipelineSchedule::one_f_one_b},
     {"interleaved", PipelineSchedule::interleaved},
     {"zero_bubble", PipelineSchedule::zero_bubble},
     {"dualpipe", PipelineSchedule::dualpipe}}};

// Of a micro-batch through one chunk of layers. `backward` is both of the two that follow it.
enum class PassKind { forward, backward, input_gradient, weight_gradient };

struct PipelinePass {
  PassKind kind = PassKind::forward;
  int chunk = 0;
  int micro_batch = 0;
  bool operator==(const PipelinePass&) const = default;
};

// What a rank computes next: one pass, or two whose kernels alternate.
struct PipelineTask {
  PipelinePass pass;
  std::optional<PipelinePass> beside = {};
  bool operator==(const PipelineTask&) const = default;
};

struct PipelineShape {
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  int ranks = 1;
  int chunks = 1;  // of each rank: its virtual stages; DualPipe's two directions
  int micro_batches = 1;
  int group = 0;  // interleaved: micro-batches that go through all chunks in turn; 0: as many as ranks

  [[nodiscard]] bool is_dual() const { return schedule == PipelineSchedule::dualpipe; }
  // Stages that a micro-batch passes.
  [[nodiscard]] int stages() const { return is_dual() ? ranks : ranks * chunks; }
  [[nodiscard]] int stage_of(int rank, int chunk) const;
  // Of a stage's neighbour, `chunk` being that of the pass that asks (DualPipe's direction).
  [[nodiscard]] int rank_of(int stage, int chunk) const;
  bool operator==(const PipelineShape&) const = default;
};

// Throws InputError (without a place, its subject the key) where the schedule has no such shape.
void check_shape(const PipelineShape& shape);

// By rank, what it computes in order.
std::vector<std::vector<PipelineTask>> pipeline_order(const PipelineShape& shape);

// "F0 F'1 F3&B'1": a quote for each chunk but the first.
std::string order_text(const std::vector<PipelineTask>& order);

// The most activations that a rank holds at once, `of_chunk` for each of its micro-batches. They are let go
// of with the weights' gradients; `at_input_gradient`: what only the inputs' need.
double most_in_flight(std::span<const PipelineTask> order, std::span<const double> of_chunk,
                      bool at_input_gradient = false);

}  // namespace ddpsim
