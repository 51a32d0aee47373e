#include "sim/model/transformer.hpp"

#include <algorithm>

#include "sim/base/check.hpp"

namespace ddpsim {

std::int64_t Transformer::with_experts(std::int64_t first, std::int64_t of) const {
  if (!has_experts()) return 0;
  return std::max<std::int64_t>(0, first + of - std::max(first, experts.dense_layers));
}

std::int64_t Transformer::expert_parameters() const {
  return experts.count * feed_forward_matrices() * hidden * experts.ffn;
}

// Experts, shared ones and the router have no biases.
std::int64_t Transformer::block_parameters(BlockKind kind) const {
  bool is_dense = kind == BlockKind::dense;
  auto qkv = query_width() + 2 * key_width();
  auto width = is_dense ? ffn : experts.shared * experts.ffn;
  auto matrices = hidden * qkv + query_width() * hidden + feed_forward_matrices() * hidden * width;
  if (!is_dense) matrices += expert_parameters() + hidden * experts.count;
  auto norms = 2 * norm_parameters();
  std::int64_t bias = 0;
  if (biases != Biases::none) bias += qkv;
  if (biases == Biases::all) bias += hidden;
  if (biases == Biases::all && is_dense) bias += (feed_forward_matrices() - 1) * ffn + hidden;
  return matrices + norms + bias;
}

std::int64_t Transformer::parameters(std::int64_t sequence) const {
  auto embeddings = vocab * hidden * (tied ? 1 : 2) + position_rows(sequence) * hidden;
  auto mixed = with_experts(0, layers);
  return (layers - mixed) * block_parameters(BlockKind::dense) +
         (mixed > 0 ? mixed * block_parameters(BlockKind::experts) : 0) + embeddings + norm_parameters() +
         extra_parameters;
}

std::int64_t Transformer::active_parameters(std::int64_t sequence) const {
  auto idle = (experts.count - experts.top_k) * feed_forward_matrices() * hidden * experts.ffn;
  return parameters(sequence) - with_experts(0, layers) * idle;
}

double Transformer::multiplied_parameters() const {
  auto attention = hidden * (query_width() + 2 * key_width()) + query_width() * hidden;
  auto mixed = with_experts(0, layers);
  auto dense = attention + feed_forward_matrices() * hidden * ffn;
  auto with_router = attention + hidden * experts.count +
                     feed_forward_matrices() * hidden * experts.ffn * (experts.top_k + experts.shared);
  return static_cast<double>(layers - mixed) * static_cast<double>(dense) +
         static_cast<double>(mixed) * static_cast<double>(with_router) +
         static_cast<double>(vocab) * static_cast<double>(hidden);
}

const Transformer* find_transformer(std::string_view name, std::span<const Transformer> among) {
  auto found = std::find_if(among.begin(), among.end(), [&](const auto& one) { return one.name == name; });
  return found == among.end() ? nullptr : &*found;
}

const Transformer& transformer_named(std::string_view name) {
  const auto* found = find_transformer(name);
  DDPSIM_CHECK(found, "a name that was checked");
  return *found;
}

}  // namespace ddpsim
