#include "sim/compute/memory.hpp"

#include <algorithm>
#include <optional>
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

// Of what queries, keys and values are made of: each rank before and after its norm, the part with a
// position, and what keys and values are cut from.
double latent_values(const Transformer& model, double t) {
  const auto& latent = model.latent;
  return static_cast<double>(2 * latent.query_rank + 2 * latent.rank + latent.rope) +
         static_cast<double>(model.heads * (latent.nope + latent.value)) / t;
}

// Values a token: inputs of norms, blocks and matrices, and dropout's masks of a byte; query, key, value and
// attention's output; the feed-forward layer's; the scores where they are kept.
Activations activations_of(const Transformer& model, const StepShape& shape, double bytes, bool flash,
                           bool dropout, BlockKind kind) {
  auto tokens = static_cast<double>(shape.tokens()), t = static_cast<double>(shape.tensor);
  double h = static_cast<double>(model.hidden), split = shape.sequence_parallel ? t : 1;
  auto of = model.widths(kind.attention);
  double q = static_cast<double>(of.query) / t, k = static_cast<double>(of.key) / t;
  double f = static_cast<double>(model.ffn) / t;
  // Tokens for experts, as they are given to them; on their way they exist twice.
  double arrived = 0;
  if (kind.has_experts) {
    const auto& experts = model.experts;
    double rows = shape.rows(experts) / tokens;
    arrived = shape.expert.tensor * rows * h;
    f = rows * static_cast<double>(experts.ffn) / (shape.expert.ranks > 1 ? 1 : t) +
        static_cast<double>(model.shared_width()) / t;
  }
  double hidden = (5 * bytes + (dropout ? 2 : 0)) * h / split;
  double inputs = static_cast<double>(of.query + of.key + of.value) / t;
  if (kind.attention == AttentionKind::latent) inputs += latent_values(model, t);
  double matrices = bytes * arrived + bytes * inputs + bytes * static_cast<double>(of.output) / t +
                    bytes * static_cast<double>(model.feed_forward_matrices()) * f;
  double scores = flash || kind.attention == AttentionKind::linear
                      ? 0
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
  HeldParameters held;
  for (const auto& blocks : stage.blocks) {
    auto layer = held_parameters(model, shape, blocks.kind);
    held.common += static_cast<double>(blocks.count) * layer.common;
    held.experts += static_cast<double>(blocks.count) * layer.experts;
  }
  if (shape.expert.ranks == 1) held.common += std::exchange(held.experts, 0);
  if (stage.is_first)
    held.common += (vocab + static_cast<double>(model.position_rows(shape.sequence))) * h / t;
  if (stage.is_last && !(model.tied && stage.is_first)) held.common += vocab * h / t;
  return held;
}

}  // namespace

void PipelineStage::add(const std::vector<BlockKind>& kinds, std::int64_t again) {
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    auto known = std::ranges::find(blocks, kinds[i], &Blocks::kind);
    if (known == blocks.end()) known = blocks.insert(known, {kinds[i]});
    ++known->count;
    if (static_cast<std::int64_t>(i) < again) ++known->recomputed;
  }
}

std::int64_t PipelineStage::layers() const {
  std::int64_t all = 0;
  for (const auto& one : blocks) all += one.count;
  return all;
}

std::int64_t PipelineStage::recomputed() const {
  std::int64_t all = 0;
  for (const auto& one : blocks) all += one.recomputed;
  return all;
}

MemoryParts memory_of(const Transformer& model, const StepShape& shape, int activation_bytes,
                      const MemorySetup& setup, const PipelineStage& stage) {
  double t = shape.tensor, bytes = activation_bytes;
  auto h = static_cast<double>(model.hidden), vocab = static_cast<double>(model.vocab);
  std::optional<BlockKind> largest;
  for (const auto& [kind, count, again] : stage.blocks)
    if (count > 0 && (!largest || held_parameters(model, shape, kind).all() >
                                      held_parameters(model, shape, *largest).all()))
      largest = kind;
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
  auto add = [&](std::int64_t layers, Recompute recompute, BlockKind kind) {
    if (layers <= 0) return;
    auto of_shape = shape;
    of_shape.recompute = recompute;
    auto one = activations_of(model, of_shape, bytes, setup.flash, setup.use.dropout, kind);
    kept += static_cast<double>(layers) * one.kept;
    if (kind == largest) worked = std::max(worked, one.worked);
  };
  for (const auto& [kind, count, again] : stage.blocks) {
    add(again, shape.recompute, kind);
    add(count - again, Recompute::none, kind);
  }
  double logits = stage.is_last ? setup.use.logit_bytes * static_cast<double>(shape.tokens()) * vocab / t : 0;
  parts.activations =
      Bytes(setup.use.fragmentation * (kept * stage.micro_batches_in_flight + std::max(worked, logits)));
  parts.buckets = setup.buckets;
  // Gathered weights of two units at once, of a layer and of the embedding, and one unit's unreduced
  // gradients.
  if (setup.sharding == Sharding::weights && setup.gathers_units) {
    double unit = largest ? setup.unit_layers * held_parameters(model, shape, *largest).all() : 0;
    parts.buckets += Bytes(2 * bytes * unit + setup.unit_gradient * std::max(unit, vocab * h / t) +
                           2 * bytes * vocab * h / t);
  }
  parts.other = setup.use.overhead;
  return parts;
}

}  // namespace ddpsim
