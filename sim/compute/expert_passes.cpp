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

// Of each row that experts take, its hidden values are read and written three times as they are permuted,
// sorted and weighed, and what an expert of width f makes is read and written once forward, with its
// gradients twice backward (docs/model.md). Half of it comes before the products.
void TransformerTimes::add_expert_traffic(bool is_forward, StageTimes& device) const {
  const auto& experts = model_.experts;
  auto width = experts.ffn / (shape_.expert.ranks > 1 ? shape_.expert.tensor : shape_.tensor);
  double rows = shape_.expert.tensor * shape_.rows(experts);
  double values =
      rows * (6 * static_cast<double>(model_.hidden) + (is_forward ? 3 : 5) * static_cast<double>(width));
  auto half = 0.5 * law_.traffic(law_.software().expert.traffic * values * law_.element_bytes());
  device[static_cast<std::size_t>(BlockStage::feed_forward_in)] += half;
  device[static_cast<std::size_t>(BlockStage::feed_forward_out)] += half;
}

std::optional<int> TransformerTimes::expert_launches(bool is_forward) const {
  const auto& software = law_.software();
  const auto& use = software.expert;
  auto host = shape_.expert.capacity > 0 && use.host_capacity ? use.host_capacity : use.host;
  if (!host || software.host <= Seconds()) return std::nullopt;
  auto local = model_.experts.count / shape_.expert.ranks;
  auto all = (is_forward ? 1 : 2) / 3.0 * (*host + static_cast<double>(local) * use.host_each);
  return static_cast<int>(std::lround(all / software.host));
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
