#include "sim/compute/memory.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace ddpsim {
namespace {

// Of one H100 (measurements/h100/memory.csv): CUDA's context with cuBLAS and cuDNN; NCCL's first
// communicator, and each further one.
constexpr Bytes kCudaContext(0.81e9), kFirstCommunicator(0.52e9), kCommunicator(0.41e9);

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

// What a block's feed-forward layer keeps of each of its width: inputs of both matrices and what is between
// them. Of experts that do not gate, probabilities multiply a copy.
double ffn_values(const Transformer& model, const MemoryUse& use, bool of_experts) {
  if (model.gated) return use.gated_values;
  return of_experts ? 3 : 2;
}

// Bytes a token, of what a block keeps, by what makes it.
struct KeptBytes {
  double norm_inputs, matrix_inputs, masks;  // hidden values; dropout's, a byte each
  double heads, ups, latents;  // queries, keys, values and attention's output; what the up-projections make
                               // of latent attention's, among them; what those are made of
  double routed, router;       // tokens as they leave for experts and as they arrive; logits in float32
  double feed_forward, activated, shared;  // of all of the layer its output's input; of shared experts
  double scores;
  [[nodiscard]] double all() const {
    return norm_inputs + matrix_inputs + masks + heads + latents + routed + router + feed_forward + shared +
           scores;
  }
  [[nodiscard]] double of(RecomputedModule module, bool has_experts) const {
    switch (module) {
      case RecomputedModule::core_attn:
        return scores;
      case RecomputedModule::layernorm:
        return matrix_inputs;
      case RecomputedModule::mla_up_proj:
        return ups;
      case RecomputedModule::mlp:
        return has_experts ? 0 : feed_forward;
      case RecomputedModule::moe:
        return has_experts ? routed + router + feed_forward + shared : 0;
      case RecomputedModule::moe_act:
        return has_experts ? activated : 0;
      case RecomputedModule::shared_experts:
        return shared;
    }
    return 0;
  }
};

// Inputs of matrices are kept as they are multiplied, in float8 in a byte; autocast's norms have float32.
KeptBytes kept_bytes(const Transformer& model, const StepShape& shape, double bytes, const MemorySetup& setup,
                     BlockKind kind) {
  auto t = static_cast<double>(shape.tensor), h = static_cast<double>(model.hidden);
  double split = shape.sequence_parallel ? t : 1, input = setup.float8_inputs ? 1 : bytes;
  auto of = model.widths(kind.attention);
  bool is_latent = kind.attention == AttentionKind::latent;
  bool has_scores = !setup.flash && kind.attention != AttentionKind::linear;
  auto query = static_cast<double>(of.query) / t, output = static_cast<double>(of.output) / t;
  auto keys_values = static_cast<double>(of.key + of.value) / t;
  if (setup.use.expands_keys && kind.attention != AttentionKind::linear)
    keys_values = std::max(keys_values, 2 * query);
  double f = static_cast<double>(model.ffn) / t, rows = 0;
  if (kind.has_experts) {
    rows = shape.expert.tensor * shape.rows(model.experts) / static_cast<double>(shape.tokens());
    f = rows * static_cast<double>(model.experts.ffn) / (shape.expert.ranks > 1 ? shape.expert.tensor : t);
  }
  auto of_width = [&](bool of_experts) {
    return (ffn_values(model, setup.use, of_experts) - 1) * bytes + input;
  };
  KeptBytes kept{};
  auto norms = static_cast<double>(model.block_norms());
  kept.norm_inputs = norms * (shape.casts_gradients ? 4 : bytes) * h / split;
  kept.matrix_inputs = std::min(norms, 2.0) * input * h / split;
  if (setup.use.dropout) kept.masks = 2 * h / split;
  kept.heads = bytes * (query + keys_values + output) + (setup.float8_inputs ? output : 0);
  if (model.head_norms != HeadNorms::none) kept.heads += bytes * static_cast<double>(of.query + of.key) / t;
  if (is_latent) {
    const auto& latent = model.latent;
    kept.latents = (bytes + input) * static_cast<double>(latent.query_rank + latent.rank) +
                   bytes * static_cast<double>(latent.rope);
    double made = bytes * static_cast<double>(model.heads * (latent.nope + latent.value)) / t;
    kept.heads += made;
    kept.ups = made + bytes * (query + keys_values);
  }
  if (kind.has_experts) {
    kept.routed = rows * h * (bytes + input);
    kept.router = 8 * static_cast<double>(model.experts.count) / split;
    kept.shared = of_width(false) * static_cast<double>(model.shared_width()) / t;
  }
  kept.feed_forward = of_width(kind.has_experts) * f;
  kept.activated = input * f;
  if (has_scores)
    kept.scores = (2 * bytes + (setup.use.dropout ? 1 : 0)) * static_cast<double>(model.heads) / t *
                  static_cast<double>(shape.sequence);
  return kept;
}

// Of a block. What is computed again is there while it is worked on.
Activations activations_of(const Transformer& model, const StepShape& shape, double bytes,
                           const MemorySetup& setup, BlockKind kind) {
  auto tokens = static_cast<double>(shape.tokens()), t = static_cast<double>(shape.tensor);
  double h = static_cast<double>(model.hidden), split = shape.sequence_parallel ? t : 1;
  auto of = model.widths(kind.attention);
  double q = static_cast<double>(of.query) / t, k = static_cast<double>(of.key) / t;
  auto block = kept_bytes(model, shape, bytes, setup, kind);
  double whole = tokens * block.all();
  double exchanged = tokens * bytes * exchanged_values(shape, q, setup.repeats_keys ? q : k);
  switch (shape.recompute) {
    case Recompute::none:
      return {whole, exchanged};
    case Recompute::selective: {
      double again = 0;
      for (auto [name, module] : kRecomputedModuleNames) {
        bool is_within = shape.modules.has(RecomputedModule::moe) &&
                         (module == RecomputedModule::moe_act || module == RecomputedModule::shared_experts);
        if (shape.modules.has(module) && !is_within) again += tokens * block.of(module, kind.has_experts);
      }
      return {whole - again, again + exchanged};
    }
    case Recompute::op: {
      double widths = (block.feed_forward + block.shared) / ffn_values(model, setup.use, kind.has_experts);
      return {tokens * (bytes * (2 * h / split + 2 * q + k) + widths + block.routed / 2), whole + exchanged};
    }
    case Recompute::full:
      return {tokens * bytes * h / split,
              whole + exchanged + (shape.sequence_parallel ? 2 * bytes * tokens * h : 0)};
  }
  return {};
}

// Embeddings, the last norm, the head and what else there is; positions are whole in every rank of a
// tensor-parallel group.
double ends_parameters(const Transformer& model, const StepShape& shape, const PipelineStage& stage) {
  auto h = static_cast<double>(model.hidden);
  double table = static_cast<double>(model.vocab) * h / shape.tensor, all = 0;
  if (stage.is_first) all += table + static_cast<double>(model.position_rows(shape.sequence)) * h;
  if (stage.is_last) all += static_cast<double>(model.norm_parameters() + model.extra_parameters);
  if (stage.is_last && !(model.tied && stage.is_first)) all += table;
  return all;
}

// Of a stage. Experts without expert parallelism are sharded as all else, and count as it.
HeldParameters parameters_of(const Transformer& model, const StepShape& shape, const PipelineStage& stage) {
  HeldParameters held;
  for (const auto& blocks : stage.blocks) {
    auto layer = held_parameters(model, shape, blocks.kind);
    held.common += static_cast<double>(blocks.count) * layer.common;
    held.experts += static_cast<double>(blocks.count) * layer.experts;
  }
  if (shape.expert.ranks == 1) held.common += std::exchange(held.experts, 0);
  held.common += ends_parameters(model, shape, stage);
  return held;
}

// Logits and what the loss makes of them, and the last norm's input and output; a tensor-parallel group that
// splits sequences gathers them.
double loss(const Transformer& model, const StepShape& shape, double bytes, const MemoryUse& use) {
  double t = shape.tensor, split = shape.sequence_parallel ? t : 1;
  auto tokens = static_cast<double>(shape.tokens()), h = static_cast<double>(model.hidden);
  return tokens * (use.logit_bytes * static_cast<double>(model.vocab) / t + 2 * bytes * h / split +
                   (split > 1 ? bytes * h : 0));
}

// What sharded weights are gathered into, and gradients reduced from, a unit at a time (PyTorch's
// _fsdp_collectives.py): the ends' unit stays from the first pass to the last reduction, and with it the
// head's gradient; a block's comes with the next one's; gradients in the type of the pass are copied into
// what is reduced.
GatheredUnits gathered(const Transformer& model, const StepShape& shape, double bytes,
                       const MemorySetup& setup, const PipelineStage& stage,
                       std::optional<BlockKind> largest) {
  if (setup.sharding != Sharding::weights || !setup.gathers_units) return {};
  double ends = ends_parameters(model, shape, stage), trained = setup.trained.common;
  double reduced = trained * (bytes + setup.unit_gradient);
  double unit = largest ? setup.unit_layers * held_parameters(model, shape, *largest).all() : 0;
  double head = stage.is_last ? static_cast<double>(model.vocab * model.hidden) / shape.tensor : 0;
  return {Bytes(bytes * ends), Bytes(bytes * (ends + trained * head + 2 * unit) + reduced * unit),
          Bytes(reduced * ends)};
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

StageMemory stage_memory(const Transformer& model, const StepShape& shape, int activation_bytes,
                         const MemorySetup& setup, const PipelineStage& stage) {
  double bytes = activation_bytes;
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

  StageMemory memory;
  memory.always.parameters = Bytes(setup.state.weights * of_rank(Sharding::weights, {}));
  memory.always.optimizer =
      Bytes((setup.state.optimizer + setup.state.step_copy) * of_rank(Sharding::optimizer, setup.trained));
  memory.always.buckets = setup.buckets;
  memory.always.workspaces = setup.workspaces;
  memory.casts = Bytes(setup.state.casts * held.all());
  memory.gradients = Bytes(setup.state.gradients * of_rank(Sharding::gradients, setup.trained));
  if (setup.keeps_gradients) memory.always.gradients = std::exchange(memory.gradients, {});
  double kept = 0, worked = 0;
  auto add = [&](std::int64_t layers, Recompute recompute, BlockKind kind) {
    if (layers <= 0) return;
    auto of_shape = shape;
    of_shape.recompute = recompute;
    auto one = activations_of(model, of_shape, bytes, setup, kind);
    kept += static_cast<double>(layers) * one.kept;
    worked = std::max(worked, one.worked);
  };
  for (const auto& [kind, count, again] : stage.blocks) {
    add(again, shape.recompute, kind);
    add(count - again, Recompute::none, kind);
  }
  memory.kept = Bytes(kept);
  memory.worked = Bytes(worked);
  if (stage.is_last) memory.loss = Bytes(loss(model, shape, bytes, setup.use));
  memory.units = gathered(model, shape, bytes, setup, stage, largest);
  memory.outside = outside_allocator(setup.use, setup.communicators);
  memory.fragmentation = setup.use.fragmentation;
  return memory;
}

MemoryParts StageMemory::peak(double in_flight) const {
  struct Moment {
    Bytes casts, gradients, activations, units;
    [[nodiscard]] Bytes all() const { return casts + gradients + activations + units; }
  };
  std::array moments{Moment{casts, {}, in_flight * kept + loss, units.loss},
                     Moment{casts, {}, in_flight * kept + worked, units.backward},
                     Moment{{}, gradients, worked, units.end}};
  auto most = std::ranges::max(moments, {}, &Moment::all);
  auto parts = always;
  parts.parameters += most.casts;
  parts.gradients += most.gradients;
  parts.activations = most.activations;
  parts.buckets += most.units;
  parts.other = outside + (fragmentation - 1) * most.all();
  return parts;
}

Bytes outside_allocator(const MemoryUse& use, int communicators) {
  if (use.overhead) return *use.overhead;
  return communicators > 0 ? kCudaContext + kFirstCommunicator + (communicators - 1) * kCommunicator
                           : kCudaContext;
}

Bytes product_workspaces(std::string_view architecture, bool transformer_engine, bool has_experts) {
  constexpr double kMiB = 1024 * 1024;
  bool is_large = architecture == "hopper" || architecture == "blackwell";
  double of_engine = is_large ? 32 : 4;
  double all = 2 * (is_large ? 32 : 8.125);
  if (transformer_engine) all += (has_experts ? 5 : 1) * of_engine;
  return Bytes(all * kMiB);
}

}  // namespace ddpsim
