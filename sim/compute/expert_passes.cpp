// What a mixture of experts adds to the passes over a block: Megatron-Core 0.16.1,
// transformer/moe/token_dispatcher.py and shared_experts.py. docs/model.md, "Mixtures of experts".
#include <algorithm>
#include <cmath>

#include "sim/compute/transformer_times.hpp"

namespace ddpsim {

ExpertPass& ExpertPass::operator+=(const ExpertPass& other) {
  dispatches += other.dispatches;
  combines += other.combines;
  probabilities += other.probabilities;
  counts += other.counts;
  gathers += other.gathers;
  busy += other.busy;
  exposed += other.exposed;
  return *this;
}

ExpertPass operator*(int times, ExpertPass pass) {
  for (auto* count : {&pass.dispatches, &pass.combines, &pass.probabilities, &pass.counts, &pass.gathers})
    *count *= times;
  pass.busy = times * pass.busy;
  pass.exposed = times * pass.exposed;
  return pass;
}

// Without expert parallelism experts are cut over the tensor-parallel group as other matrices are.
HeldParameters held_parameters(const Transformer& model, const StepShape& shape, BlockKind kind) {
  double whole = 0;  // on every GPU of a tensor-parallel group
  for (const auto& matrix : model.attention_matrices(kind.attention))
    if (matrix.is_down) whole += static_cast<double>(matrix.inputs * matrix.outputs);
  auto cut = static_cast<double>(model.block_parameters(kind)) - whole;
  if (!kind.has_experts) return {whole + cut / shape.tensor, 0};
  auto experts = static_cast<double>(model.expert_parameters());
  return {whole + (cut - experts) / shape.tensor,
          experts / (shape.expert.ranks > 1 ? shape.expert.ranks * shape.expert.tensor : shape.tensor)};
}

// The router; experts of as many tokens each, in grouped products; shared ones.
void TransformerTimes::add_experts(std::vector<Matrix>& all) const {
  const auto& experts = model_.experts;
  auto h = model_.hidden, inner = model_.feed_forward_matrices() - 1;
  bool is_whole = shape_.expert.ranks > 1;
  auto local = experts.count / shape_.expert.ranks;
  auto width = experts.ffn / (is_whole ? shape_.expert.tensor : shape_.tensor);
  // Every rank of those that share experts sends as many, so that all of one's experts take shape_.rows(),
  // and those of all ranks that share each of them.
  auto tokens = static_cast<std::int64_t>(
      std::ceil(shape_.expert.tensor * shape_.rows(experts) / static_cast<double>(local)));
  all.push_back(
      {BlockStage::feed_forward_in, experts.count, h, shape_.routed(), false, 1, Matrix::Of::router});
  all.push_back(
      {BlockStage::feed_forward_in, inner * width, h, tokens, !is_whole, local, Matrix::Of::experts});
  all.push_back({BlockStage::feed_forward_out, h, width, tokens, false, local, Matrix::Of::experts});
  if (experts.shared == 0) return;
  auto shared = model_.shared_width() / shape_.tensor;
  all.push_back(
      {BlockStage::feed_forward_in, inner * shared, h, shape_.tokens(), is_whole, 1, Matrix::Of::shared});
  all.push_back({BlockStage::feed_forward_out, h, shared, shape_.tokens(), false, 1, Matrix::Of::shared});
}

double TransformerTimes::activated(BlockKind kind) const {
  if (!kind.has_experts) return static_cast<double>(ffn_);
  const auto& experts = model_.experts;
  double cut = shape_.expert.ranks > 1 ? 1 : shape_.tensor;
  return shape_.rows(experts) / static_cast<double>(shape_.tokens()) * static_cast<double>(experts.ffn) /
             cut +
         static_cast<double>(model_.shared_width()) / shape_.tensor;
}

// Before they travel, or after all have been gathered: tokens are read and written once for each expert that
// they go to, and what comes back is read as often and written once; where a rank has several experts of
// many, what arrives is sorted by them, and back again (token_dispatcher.py:637, 732, 767, 833).
void TransformerTimes::add_permutation(StageTimes& device) const {
  const auto& experts = model_.experts;
  auto of_rows = [&](double rows) {
    return law_.traffic(rows * static_cast<double>(model_.hidden) * law_.element_bytes());
  };
  auto routed = static_cast<double>(shape_.routed());
  double copies =
      routed * static_cast<double>(experts.top_k) * (shape_.expert.capacity > 0 ? shape_.expert.capacity : 1);
  auto add = [&](BlockStage stage, Seconds time) { device[static_cast<std::size_t>(stage)] += time; };
  if (shape_.expert.dispatcher == Dispatcher::all_gather) {
    copies = shape_.rows(experts);
    routed *= shape_.expert.ranks;
  }
  add(BlockStage::feed_forward_in, of_rows(2 * copies));
  add(BlockStage::feed_forward_out, of_rows(copies + routed));
  if (shape_.expert.ranks == 1 || shape_.expert.ranks == experts.count ||
      shape_.expert.dispatcher == Dispatcher::all_gather)
    return;
  auto sorted = of_rows(2 * shape_.expert.tensor * shape_.rows(experts));
  add(BlockStage::feed_forward_in, sorted);
  add(BlockStage::feed_forward_out, sorted);
}

// All of it is waited for; shared experts may compute meanwhile, their first matrices while tokens are
// dispatched and the last one while they are combined (shared_experts.py:156-270), and backward likewise.
ExpertPass TransformerTimes::expert_pass(BlockKind kind, bool is_forward) const {
  ExpertPass pass;
  if (!kind.has_experts || shape_.expert.ranks == 1) return pass;
  // With the tokens, but for NCCL's exchanges.
  bool is_apart = is_of_nccl(shape_.expert.dispatcher);
  pass.dispatches = pass.combines = 1;
  pass.probabilities = is_apart ? 1 : 0;
  pass.counts = is_apart && is_forward && shape_.expert.capacity == 0 ? 1 : 0;
  auto dispatch = expert_.dispatch + pass.probabilities * expert_.probabilities;
  // Gathered before the experts and scattered after them; backward the other way round (token_dispatcher.py).
  pass.gathers = shape_.expert.tensor > 1 ? 1 : 0;
  pass.busy = dispatch + expert_.combine + pass.counts * expert_.counts +
              pass.gathers * (expert_.gather + expert_.scatter);
  pass.exposed = pass.busy;
  if (!shape_.expert.overlaps_shared) return pass;
  for (const auto& matrix : matrices(kind)) {
    if (matrix.of != Matrix::Of::shared) continue;
    auto compute = is_forward ? product(matrix) : input_gradient(matrix) + weight_gradient(matrix);
    pass.exposed =
        pass.exposed -
        std::min(compute, matrix.stage == BlockStage::feed_forward_in ? dispatch : expert_.combine);
  }
  return pass;
}

}  // namespace ddpsim
