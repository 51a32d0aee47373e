#include "sim/compute/transformer_times.hpp"

#include <algorithm>
#include <numeric>

namespace ddpsim {
namespace {

// Kernels of a block's pass that are no products: norms, residual sums, activation, dropout, copies.
constexpr int kForwardOthers = 10, kBackwardOthers = 16, kTensorParallelOthers = 4;
// Of rotary embeddings that no kernel fuses (measurements/h200/pace.csv: Llama's blocks launch 32 and 56
// kernels, GPT-2's 12 and 27).
constexpr int kForwardRotaryOthers = 18, kBackwardRotaryOthers = 30;
// Of a router's choice and of what it moves: softmax, top-k, counts, indices, copies to experts and back.
// Where the framework's host time for experts is known, that counts.
constexpr int kForwardRoutingOthers = 10, kBackwardRoutingOthers = 8;
constexpr int kEndForwardKernels = 12, kEndBackwardKernels = 16;
constexpr double kCastBytes = 6;            // a parameter, float32 to 16 bits
constexpr double kForwardLossShare = 0.45;  // of the loss' traffic
constexpr double kForwardRotaryShare =
    0.31;  // of that of rotary embeddings (measurements/h200/elementwise.csv)
// Passes over the scores of unfused attention, of 2 bytes each.
constexpr double kForwardScorePasses = 5.25, kBackwardScorePasses = 6.25;
// Passes over the hidden values of a block, half of them around each norm.
constexpr double kForwardHiddenPasses = 11, kBackwardHiddenPasses = 17, kBackwardActivation = 1.6;
// Of each norm beyond the usual two: reads and writes; backward reads its input and a gradient, writes one.
constexpr double kForwardNormPasses = 2, kBackwardNormPasses = 3;
constexpr int kForwardNormKernels = 1, kBackwardNormKernels = 2;

Seconds& at(StageTimes& times, BlockStage stage) {
  return times[static_cast<std::size_t>(stage)];
}

std::int64_t rows_of_vocabulary(std::int64_t vocab, int tensor) {
  if (vocab % tensor == 0) return vocab / tensor;
  auto padded = 128 * tensor;
  return (vocab + padded - 1) / padded * 128;
}

PassTime spread(const ComputeLaw& law, const BlockPass& pass, Seconds time) {
  PassTime result{time, pass.device, pass.kernels * law.software().host};
  for (auto& stage : result.stages) stage = stage * (result.time / pass.total());
  return result;
}

// What a pass takes with what it waits for, each of which then is by how much the pass is longer for it: less
// where the host sets the pace.
template <class TimeOf>
Seconds timed_with(TimeOf time_of, TensorPass& tensor, ContextPass& context, ExpertPass& expert) {
  auto waited = tensor.exposed + context.exposed + expert.exposed;
  Seconds time = time_of(waited);
  if (waited <= Seconds()) return time;
  double share = (time - time_of(Seconds())) / waited;
  for (auto* exposed : {&tensor.exposed, &context.exposed, &expert.exposed}) *exposed = share * *exposed;
  return time;
}

}  // namespace

Seconds BlockPass::total() const {
  return std::accumulate(device.begin(), device.end(), Seconds());
}

TransformerTimes::TransformerTimes(const Transformer& model, const GpuDescription& gpu,
                                   const Software& software, Precision precision, const StepShape& shape,
                                   const TensorCollectives& tensor, const ContextCollectives& context,
                                   const ExpertCollectives& expert)
    : model_(model),
      law_(gpu, software, precision),
      shape_(shape),
      tensor_(tensor),
      context_(context),
      expert_(expert),
      ffn_(model.ffn / shape.tensor),
      heads_(model.heads / shape.tensor),
      vocab_(rows_of_vocabulary(model.vocab, shape.tensor)) {}

Seconds TransformerTimes::passes(double columns) const {
  return law_.traffic(static_cast<double>(shape_.tokens()) * law_.element_bytes() * columns);
}

bool TransformerTimes::is_flash(BlockKind kind) const {
  const auto& software = law_.software();
  bool has_sinks = model_.sinks && kind.attention != AttentionKind::linear;
  return software.flash && (!has_sinks || software.expert.flash_sinks);
}

AttentionWidths TransformerTimes::widths(BlockKind kind) const {
  auto of = model_.widths(kind.attention);
  for (auto* width : {&of.query, &of.key, &of.value, &of.output, &of.rotated}) *width /= shape_.tensor;
  return of;
}

// Each rank of those that share a sequence has as much of the scores: pieces i and 2c - 1 - i of it, or its
// heads of all of it. Whatever is linear runs in a kernel of its own, at the share of attention's.
Seconds TransformerTimes::attention_products(BlockKind kind) const {
  auto b = static_cast<double>(shape_.micro_batch), s = static_cast<double>(shape_.sequence);
  auto head = model_.head_width(kind.attention);
  double all = b * s * model_.attention_operations(kind.attention, shape_.sequence) / shape_.tensor;
  if (is_flash(kind)) {
    double met = law_.software().causal_skip ? model_.unmasked(kind.attention, shape_.sequence) : 1;
    if (met < 1) met += law_.software().attention_ramp / (2 * s);
    return law_.attention_kernel(all * met / shape_.context, head);
  }
  if (kind.attention == AttentionKind::linear) return law_.products(all);
  double scores = b * static_cast<double>(heads_) * s * s;
  // Where only sinks have no kernel, their products are as large ones are; windows are cut out of all scores.
  if (law_.software().flash)
    return law_.products(b * s * model_.attention_operations(AttentionKind::full, shape_.sequence) /
                         shape_.tensor) +
           law_.traffic(kForwardScorePasses * law_.element_bytes() * scores);
  double count = b * static_cast<double>(heads_);
  return 2 * law_.batched_product(count, shape_.sequence, head) +
         law_.traffic(kForwardScorePasses * law_.element_bytes() * count * s * s);
}

// Around a ring each step's output is scaled and added to what the steps before gave, in float32.
Seconds TransformerTimes::attention_forward(BlockKind kind) const {
  auto products = attention_products(kind);
  if (shape_.context == 1 || shape_.context_kind != ContextKind::ring) return products;
  return products +
         law_.traffic(shape_.context * 3.0 * 4 * static_cast<double>(shape_.tokens() * widths(kind).output));
}

// Query, key and value are one product, but for a latent's: its ranks are made on every GPU, of the part of
// the sequence that it has.
void TransformerTimes::add_attention(BlockKind kind, std::vector<Matrix>& all) const {
  auto tokens = shape_.tokens();
  auto split = shape_.sequence_parallel ? shape_.tensor : 1;
  std::int64_t columns = 0, rows = 0;
  for (const auto& matrix : model_.attention_matrices(kind.attention)) {
    if (matrix.is_output) {
      if (columns > 0) all.push_back({BlockStage::query_key_value, columns, rows, tokens, true});
      all.push_back({BlockStage::attention_output, matrix.outputs, matrix.inputs / shape_.tensor, tokens});
    } else if (matrix.is_down) {
      all.push_back({BlockStage::query_key_value, matrix.outputs, matrix.inputs, tokens / split});
    } else if (kind.attention == AttentionKind::latent) {
      all.push_back(
          {BlockStage::query_key_value, matrix.outputs / shape_.tensor, matrix.inputs, tokens, true});
    } else {
      columns += matrix.outputs / shape_.tensor;
      rows = matrix.inputs;
    }
  }
}

std::vector<TransformerTimes::Matrix> TransformerTimes::matrices(BlockKind kind) const {
  auto h = model_.hidden, tokens = shape_.tokens();
  std::vector<Matrix> all;
  add_attention(kind, all);
  if (kind.has_experts) {
    add_experts(all);
    return all;
  }
  all.push_back({BlockStage::feed_forward_in, (model_.feed_forward_matrices() - 1) * ffn_, h, tokens, true});
  all.push_back({BlockStage::feed_forward_out, h, ffn_, tokens});
  return all;
}

// A router's logits are 16 bits wide at least (Megatron-Core's moe_router_dtype: that of its input, or more).
Seconds TransformerTimes::product(const Product& one, Matrix::Of of) const {
  return of == Matrix::Of::router ? law_.wide_product(one) : law_.product(one);
}

Seconds TransformerTimes::product(const Matrix& matrix) const {
  return product({matrix.tokens, matrix.n, matrix.k, Tokens::m, matrix.count}, matrix.of);
}

Seconds TransformerTimes::input_gradient(const Matrix& matrix) const {
  return product({matrix.tokens, matrix.k, matrix.n, Tokens::m, matrix.count}, matrix.of);
}

Seconds TransformerTimes::weight_gradient(const Matrix& matrix) const {
  return product({matrix.n, matrix.k, matrix.tokens, Tokens::k, matrix.count}, matrix.of);
}

void TransformerTimes::add_traffic(BlockKind kind, bool is_forward, StageTimes& device) const {
  double elementwise = law_.software().elementwise;
  double split = shape_.sequence_parallel ? shape_.tensor : 1;
  double hidden_passes = is_forward ? kForwardHiddenPasses : kBackwardHiddenPasses;
  hidden_passes += (is_forward ? kForwardNormPasses : kBackwardNormPasses) * more_norms();
  auto norm = elementwise * passes(hidden_passes / 2 * static_cast<double>(model_.hidden) / split);
  at(device, BlockStage::first_norm) += norm;
  at(device, BlockStage::second_norm) += norm;
  auto of = widths(kind);
  at(device, BlockStage::attention) +=
      elementwise * passes(2 * static_cast<double>(of.query + of.key + of.value));
  double rotary_share = is_forward ? kForwardRotaryShare : 1 - kForwardRotaryShare;
  if (model_.has_rotary_embeddings())
    at(device, BlockStage::attention) +=
        law_.traffic(rotary_share * law_.software().rotary_bytes * static_cast<double>(shape_.tokens()) *
                     static_cast<double>(of.rotated));
  // Of experts that all tokens go to; the others' is in what they move.
  auto activated = kind.has_experts ? model_.shared_width() / shape_.tensor : ffn_;
  at(device, BlockStage::activation) +=
      elementwise * passes((is_forward ? 1 : kBackwardActivation) *
                           static_cast<double>(model_.feed_forward_matrices() * activated));
  if (kind.has_experts) add_expert_traffic(is_forward, device);
}

void TransformerTimes::add_casts(BlockKind kind, double bytes, StageTimes& device) const {
  auto cast = law_.traffic(bytes * held_parameters(model_, shape_, kind).all());
  at(device, BlockStage::first_norm) += 0.5 * cast;
  at(device, BlockStage::second_norm) += 0.5 * cast;
}

int TransformerTimes::kernels(int products, int attention, int others, int rotary) const {
  bool rotates = model_.has_rotary_embeddings() && law_.software().rotary_bytes > 0;
  return products + attention + others + (rotates ? rotary : 0) +
         (shape_.tensor > 1 ? kTensorParallelOthers : 0);
}

BlockPass TransformerTimes::forward(BlockKind kind) const {
  const auto& software = law_.software();
  BlockPass pass;
  auto all = matrices(kind);
  for (const auto& matrix : all) {
    at(pass.device, matrix.stage) += product(matrix);
    if (law_.precision() == Precision::float8 && matrix.of != Matrix::Of::router)
      at(pass.device, matrix.stage) +=
          law_.traffic(software.fp8_cast * static_cast<double>(matrix.count) *
                       static_cast<double>(matrix.tokens + matrix.n) * static_cast<double>(matrix.k));
  }
  at(pass.device, BlockStage::attention) = attention_forward(kind);
  add_traffic(kind, true, pass.device);
  if (shape_.casts_gradients) add_casts(kind, software.weight_cast, pass.device);
  pass.kernels = kernels(
      static_cast<int>(all.size()), attention_kernels(is_flash(kind) ? 1 : 5, true),
      kForwardOthers + kForwardNormKernels * more_norms() + (kind.has_experts ? kForwardRoutingOthers : 0),
      kForwardRotaryOthers);
  if (kind.has_experts) pass.kernels = expert_launches(true).value_or(pass.kernels);
  return pass;
}

BlockPass TransformerTimes::backward(BlockKind kind, const TrainedShares& trained) const {
  const auto& software = law_.software();
  BlockPass pass;
  auto all = matrices(kind);
  int products = 0;
  for (const auto& matrix : all) {
    auto share = trained[static_cast<std::size_t>(matrix.stage)];
    products += share > 0 ? 2 : 1;
    at(pass.device, matrix.stage) += input_gradient(matrix) + share * weight_gradient(matrix);
    if (law_.precision() == Precision::float8 && matrix.of != Matrix::Of::router)
      at(pass.device, matrix.stage) +=
          law_.traffic(software.fp8_cast * static_cast<double>(matrix.count) *
                       static_cast<double>(matrix.tokens) * static_cast<double>(matrix.n));
  }
  auto attention = attention_products(kind);
  if (is_flash(kind) || kind.attention == AttentionKind::linear) {
    attention = kFlashBackward * attention;
  } else {
    double scores = static_cast<double>(shape_.tokens()) * static_cast<double>(heads_) *
                    static_cast<double>(shape_.sequence);
    attention = 2 * attention + law_.traffic((kBackwardScorePasses - 2 * kForwardScorePasses) *
                                             law_.element_bytes() * scores);
  }
  at(pass.device, BlockStage::attention) = attention;
  add_traffic(kind, false, pass.device);
  if (shape_.casts_gradients) add_casts(kind, kCastBytes, pass.device);
  pass.kernels = kernels(
      products, attention_kernels(is_flash(kind) ? 2 : 8, false),
      kBackwardOthers + kBackwardNormKernels * more_norms() + (kind.has_experts ? kBackwardRoutingOthers : 0),
      kBackwardRotaryOthers);
  if (kind.has_experts) pass.kernels = expert_launches(false).value_or(pass.kernels);
  return pass;
}

Seconds TransformerTimes::weight_gradients(BlockKind kind, const TrainedShares& trained) const {
  Seconds sum;
  for (const auto& matrix : matrices(kind))
    sum += trained[static_cast<std::size_t>(matrix.stage)] * weight_gradient(matrix);
  return sum;
}

// The device's time: what collectives of a tensor-parallel group take in them is not repeated.
Seconds TransformerTimes::recomputed_modules(BlockKind kind, const BlockPass& forward) const {
  using Module = RecomputedModule;
  auto stage = [&](BlockStage one) { return forward.device[static_cast<std::size_t>(one)]; };
  const auto& modules = shape_.modules;
  Seconds all;
  if (modules.has(Module::core_attn)) all += attention_forward(kind);
  if (modules.has(Module::layernorm)) all += stage(BlockStage::first_norm) + stage(BlockStage::second_norm);
  auto feed_forward = stage(BlockStage::feed_forward_in) + stage(BlockStage::activation) +
                      stage(BlockStage::feed_forward_out);
  if (modules.has(kind.has_experts ? Module::moe : Module::mlp)) all += feed_forward;
  for (const auto& matrix : matrices(kind)) {
    bool is_up = kind.attention == AttentionKind::latent && matrix.stage == BlockStage::query_key_value &&
                 (matrix.k == model_.latent.rank || matrix.k == model_.latent.query_rank);
    if (is_up && modules.has(Module::mla_up_proj)) all += product(matrix);
    bool is_shared = matrix.of == Matrix::Of::shared && !modules.has(Module::moe);
    if (is_shared && modules.has(Module::shared_experts)) all += product(matrix);
  }
  if (kind.has_experts && modules.has(Module::moe_act) && !modules.has(Module::moe)) {
    const auto& experts = model_.experts;
    auto width = experts.ffn / (shape_.expert.ranks > 1 ? shape_.expert.tensor : shape_.tensor);
    all += law_.traffic(3 * shape_.expert.tensor * shape_.rows(experts) * static_cast<double>(width) *
                        law_.element_bytes());
  }
  return all;
}

Seconds TransformerTimes::recompute(BlockKind kind, const BlockPass& forward, Seconds communication) const {
  auto stage = [&](BlockStage one) { return forward.device[static_cast<std::size_t>(one)]; };
  auto all = matrices(kind);
  switch (shape_.recompute) {
    case Recompute::none:
      return {};
    case Recompute::selective:
      return recomputed_modules(kind, forward) + communication;
    case Recompute::full: {
      if (!law_.software().early_stop) return law_.paced(forward.total() + communication, forward.kernels);
      return law_.paced(forward.total() - product(all.back()) + communication, forward.kernels - 1);
    }
    case Recompute::op: {
      Seconds products;
      for (const auto& matrix : all) products += product(matrix);
      auto others = stage(BlockStage::first_norm) + stage(BlockStage::second_norm) +
                    stage(BlockStage::activation) + stage(BlockStage::attention) - attention_forward(kind);
      return law_.paced(0.5 * products + others + communication, forward.kernels - 3);
    }
  }
  return {};
}

BlockTimes TransformerTimes::block(BlockKind kind, const TrainedShares& trained) const {
  BlockTimes times;
  times.tensor_forward = tensor_forward(kind);
  times.tensor_backward = tensor_backward(kind);
  times.tensor_recompute = tensor_recompute(kind);
  times.context_forward = context_forward(kind);
  times.context_backward = context_backward(kind);
  times.context_recompute = context_recompute(kind);
  times.expert_forward = expert_pass(kind, true);
  times.expert_backward = expert_pass(kind, false);
  if (shape_.repeats(RecomputedModule::moe)) times.expert_recompute = times.expert_forward;
  auto pass = forward(kind), back = backward(kind, trained);
  auto of_pass = [this](const BlockPass& one) {
    return [this, &one](Seconds waited) { return law_.paced(one.total() + waited, one.kernels); };
  };
  times.forward =
      spread(law_, pass,
             timed_with(of_pass(pass), times.tensor_forward, times.context_forward, times.expert_forward));
  times.backward =
      spread(law_, back,
             timed_with(of_pass(back), times.tensor_backward, times.context_backward, times.expert_backward));
  times.recompute = timed_with([&](Seconds waited) { return recompute(kind, pass, waited); },
                               times.tensor_recompute, times.context_recompute, times.expert_recompute);
  times.weight_gradient = (weight_gradients(kind, trained) / back.total()) * times.backward.time;
  return times;
}

EndTimes TransformerTimes::ends(const Ends& of) const {
  auto tokens = shape_.tokens(), h = model_.hidden;
  auto columns = static_cast<double>(h);
  EndTimes device;
  if (of.embedding) {
    device.embedding_forward = 3 * passes(columns);
    device.embedding_backward =
        4 * passes(columns) +
        law_.traffic(2 * static_cast<double>(model_.vocab) / shape_.tensor * columns * law_.element_bytes());
  }
  if (of.head) {
    auto loss =
        law_.traffic(law_.software().loss_bytes * static_cast<double>(tokens) * static_cast<double>(vocab_));
    device.head_forward = law_.wide_product({tokens, vocab_, h}) + kForwardLossShare * loss;
    if (shape_.casts_gradients)
      device.head_forward += law_.traffic(law_.software().weight_cast * static_cast<double>(vocab_ * h));
    device.head_weight_gradient = law_.wide_product({vocab_, h, tokens, Tokens::k});
    device.head_backward =
        law_.wide_product({tokens, h, vocab_}) + device.head_weight_gradient + (1 - kForwardLossShare) * loss;
  }
  int ends = of.embedding + of.head;
  auto pace = [&](Seconds time, int kernels) {
    return time > Seconds() ? law_.paced(time, ends * kernels) / time : 0;
  };
  double forward = pace(device.embedding_forward + device.head_forward, kEndForwardKernels);
  double backward = pace(device.embedding_backward + device.head_backward, kEndBackwardKernels);
  return {forward * device.embedding_forward, backward * device.embedding_backward,
          forward * device.head_forward, backward * device.head_backward,
          backward * device.head_weight_gradient};
}

Seconds TransformerTimes::micro_batch() const {
  auto e = ends();
  auto again = model_.kinds_of(0, std::min(shape_.recomputed, model_.layers));
  Seconds all = e.embedding_forward + e.embedding_backward + e.head_forward + e.head_backward;
  for (const auto& [kind, count] : model_.kinds()) {
    auto one = block(kind);
    all += static_cast<double>(count) * (one.forward.time + one.backward.time) +
           static_cast<double>(std::ranges::count(again, kind)) * one.recompute;
  }
  return all;
}

Seconds TransformerTimes::optimizer(double parameters) const {
  const auto& software = law_.software();
  return law_.traffic(parameters * software.optimizer_bytes) +
         law_.products(parameters * software.optimizer_operations);
}

}  // namespace ddpsim
