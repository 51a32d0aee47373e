#include "sim/compute/memory.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace ddpsim {
namespace {

// Of one layer: kept from forward to backward, and more while it is worked on.
struct Activations {
  double kept = 0, worked = 0;
};

// Values a token that GPUs which share sequences hold of others, or for them: two buffers of keys, values and
// their gradients; those of all ranks; what is cut by heads.
double exchanged_values(const StepShape& shape, double query, double key) {
  if (shape.context == 1) return 0;
  switch (shape.context_kind) {
    case ContextKind::ring:
      return 2 * 4 * key;
    case ContextKind::all_gather:
      return shape.context * 4 * key;
    case ContextKind::all_to_all:
      return 2 * query + 2 * key;
  }
  return 0;
}

// Values a token: inputs of norms, blocks and matrices, and dropout's masks of a byte; query, key, value and
// attention's output; the feed-forward layer's; the scores where they are kept.
Activations activations_of(const Transformer& model, const StepShape& shape, double bytes, bool flash,
                           bool dropout, BlockKind kind) {
  auto tokens = static_cast<double>(shape.tokens()), t = static_cast<double>(shape.tensor);
  double h = static_cast<double>(model.hidden), split = shape.sequence_parallel ? t : 1;
  double q = static_cast<double>(model.query_width()) / t, k = static_cast<double>(model.key_width()) / t;
  double f = static_cast<double>(model.ffn) / t;
  // Tokens for experts, as they are given to them; on their way they exist twice.
  double arrived = 0;
  if (kind == BlockKind::experts) {
    const auto& experts = model.experts;
    double rows = shape.rows(experts) / tokens;
    arrived = shape.expert.tensor * rows * h;
    f = rows * static_cast<double>(experts.ffn) / (shape.expert.ranks > 1 ? 1 : t) +
        static_cast<double>(experts.shared * experts.ffn) / t;
  }
  double hidden = (5 * bytes + (dropout ? 2 : 0)) * h / split;
  double matrices = bytes * arrived + bytes * (q + 2 * k) + bytes * q +
                    bytes * static_cast<double>(model.feed_forward_matrices()) * f;
  double scores = flash ? 0
                        : (2 * bytes + (dropout ? 1 : 0)) * static_cast<double>(model.heads) / t *
                              static_cast<double>(shape.sequence);
  double whole = tokens * (hidden + matrices + scores);
  double exchanged = tokens * bytes * (exchanged_values(shape, q, k) + arrived);
  switch (shape.recompute) {
    case Recompute::none:
      return {whole, exchanged};
    case Recompute::selective:
      return {tokens * (hidden + matrices), tokens * scores + exchanged};
    case Recompute::op:
      return {tokens * bytes * (2 * h / split + 2 * q + k + f + arrived), whole + exchanged};
    case Recompute::full:
      return {tokens * bytes * h / split,
              whole + exchanged + (shape.sequence_parallel ? 2 * bytes * tokens * h : 0)};
  }
  return {};
}

// Of a stage. Experts without expert parallelism are sharded as all else, and count as it.
HeldParameters parameters_of(const Transformer& model, const StepShape& shape, const PipelineStage& stage) {
  double t = shape.tensor;
  auto h = static_cast<double>(model.hidden), vocab = static_cast<double>(model.vocab);
  auto mixed = static_cast<double>(stage.with_experts);
  HeldParameters held;
  held.common = static_cast<double>(stage.layers - stage.with_experts) *
                held_parameters(model, shape, BlockKind::dense).common;
  if (mixed > 0) {
    auto layer = held_parameters(model, shape, BlockKind::experts);
    held.common += mixed * layer.common;
    held.experts = mixed * layer.experts;
  }
  if (shape.expert.ranks == 1) held.common += std::exchange(held.experts, 0);
  if (stage.is_first)
    held.common += (vocab + static_cast<double>(model.position_rows(shape.sequence))) * h / t;
  if (stage.is_last && !(model.tied && stage.is_first)) held.common += vocab * h / t;
  return held;
}

}  // namespace

MemoryParts memory_of(const Transformer& model, const StepShape& shape, int activation_bytes,
                      const MemorySetup& setup, const PipelineStage& stage) {
  double t = shape.tensor, bytes = activation_bytes;
  auto h = static_cast<double>(model.hidden), vocab = static_cast<double>(model.vocab);
  auto dense = static_cast<double>(stage.layers - stage.with_experts);
  auto mixed = static_cast<double>(stage.with_experts);
  auto largest = stage.with_experts > 0 ? BlockKind::experts : BlockKind::dense;
  auto held = parameters_of(model, shape, stage);
  auto of_rank = [&](Sharding kind, const TrainedParameters& share) {
    bool is_sharded = setup.sharding >= kind;
    return share.common * held.common / (is_sharded ? setup.shards : 1) +
           share.experts * held.experts / (is_sharded ? setup.expert_shards : 1);
  };

  MemoryParts parts;
  parts.parameters = Bytes(setup.state.weights * of_rank(Sharding::weights, {}));
  parts.gradients = Bytes(setup.state.gradients * of_rank(Sharding::gradients, setup.trained));
  parts.optimizer =
      Bytes((setup.state.optimizer + setup.state.step_copy) * of_rank(Sharding::optimizer, setup.trained));
  double kept = 0, worked = 0;
  auto add = [&](double layers, Recompute recompute, BlockKind kind) {
    if (layers <= 0) return;
    auto of_shape = shape;
    of_shape.recompute = recompute;
    auto one = activations_of(model, of_shape, bytes, setup.flash, setup.use.dropout, kind);
    kept += layers * one.kept;
    if (kind == largest) worked = std::max(worked, one.worked);
  };
  for (auto [layers, recomputed, kind] : {std::tuple(dense, stage.recomputed_dense, BlockKind::dense),
                                          {mixed, stage.recomputed_experts, BlockKind::experts}}) {
    auto again = std::min(layers, recomputed ? static_cast<double>(*recomputed) : layers);
    add(again, shape.recompute, kind);
    add(layers - again, Recompute::none, kind);
  }
  double logits = stage.is_last ? setup.use.logit_bytes * static_cast<double>(shape.tokens()) * vocab / t : 0;
  parts.activations =
      Bytes(setup.use.fragmentation * (kept * stage.micro_batches_in_flight + std::max(worked, logits)));
  parts.buckets = setup.buckets;
  // Gathered weights of two units at once, of a layer and of the embedding, and one unit's unreduced
  // gradients.
  if (setup.sharding == Sharding::weights && setup.gathers_units) {
    double unit = setup.unit_layers * held_parameters(model, shape, largest).all();
    parts.buckets += Bytes(2 * bytes * unit + setup.unit_gradient * std::max(unit, vocab * h / t) +
                           2 * bytes * vocab * h / t);
  }
  parts.other = setup.use.overhead;
  return parts;
}

}  // namespace ddpsim
