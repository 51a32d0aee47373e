#include "sim/model/transformer.hpp"

#include <algorithm>

#include "sim/base/check.hpp"

namespace ddpsim {
namespace {

double of(std::int64_t number) {
  return static_cast<double>(number);
}

}  // namespace

BlockKind Transformer::usual_kind() const {
  auto attention = latent.rank > 0 ? AttentionKind::latent
                   : window > 0    ? AttentionKind::window
                                   : AttentionKind::full;
  return {attention, has_experts()};
}

BlockKind Transformer::kind_of(std::int64_t block) const {
  for (const auto& run : blocks) {
    if (block < run.count) return run.kind;
    block -= run.count;
  }
  return usual_kind();
}

std::vector<BlockKind> Transformer::kinds_of(std::int64_t first, std::int64_t count) const {
  std::vector<BlockKind> all;
  all.reserve(static_cast<std::size_t>(count));
  std::int64_t start = 0;
  for (const auto& run : blocks) {
    auto end = std::min(start + run.count, first + count);
    for (auto block = std::max(start, first); block < end; ++block) all.push_back(run.kind);
    start += run.count;
  }
  if (blocks.empty()) all.assign(static_cast<std::size_t>(count), usual_kind());
  return all;
}

std::vector<BlockRun> Transformer::kinds() const {
  if (blocks.empty()) return {{usual_kind(), layers}};
  std::vector<BlockRun> all;
  for (const auto& run : blocks) {
    auto known = std::ranges::find(all, run.kind, &BlockRun::kind);
    if (known == all.end())
      all.push_back(run);
    else
      known->count += run.count;
  }
  return all;
}

BlockKind Transformer::largest_kind() const {
  auto all = kinds();
  return std::ranges::max_element(all, {}, [&](const BlockRun& run) { return block_parameters(run.kind); })
      ->kind;
}

bool Transformer::has_linear_attention() const {
  return std::ranges::any_of(kinds(),
                             [](const BlockRun& run) { return run.kind.attention == AttentionKind::linear; });
}

std::int64_t Transformer::blocks_with_experts() const {
  std::int64_t count = 0;
  for (const auto& run : kinds())
    if (run.kind.has_experts) count += run.count;
  return count;
}

namespace {

std::int64_t parameters_of_expert(const Transformer& model) {
  auto matrices = model.feed_forward_matrices(), ffn = model.experts.ffn;
  return matrices * model.hidden * ffn + (model.experts.has_bias ? (matrices - 1) * ffn + model.hidden : 0);
}

}  // namespace

std::int64_t Transformer::expert_parameters() const {
  return experts.count * parameters_of_expert(*this);
}

std::int64_t Transformer::block_parameters(BlockKind kind) const {
  std::int64_t all = attention_vectors(kind.attention) + block_norms() * norm_parameters();
  for (const auto& matrix : attention_matrices(kind.attention)) all += matrix.inputs * matrix.outputs;
  if (!kind.has_experts) {
    all += feed_forward_matrices() * hidden * ffn;
    return feed_forward_has_bias() ? all + (feed_forward_matrices() - 1) * ffn + hidden : all;
  }
  all += expert_parameters() + hidden * experts.count + feed_forward_matrices() * hidden * shared_width();
  return all + (experts.router_bias ? experts.count : 0) +
         (experts.shared_gate && experts.shared > 0 ? hidden : 0);
}

std::int64_t Transformer::parameters(std::int64_t sequence) const {
  std::int64_t all = vocab * hidden * (tied ? 1 : 2) + position_rows(sequence) * hidden + norm_parameters() +
                     extra_parameters;
  for (const auto& run : kinds()) all += run.count * block_parameters(run.kind);
  return all;
}

std::int64_t Transformer::active_parameters(std::int64_t sequence) const {
  auto idle = (experts.count - experts.top_k) * parameters_of_expert(*this);
  return parameters(sequence) - blocks_with_experts() * idle;
}

double Transformer::multiplied_parameters() const {
  double all = of(vocab) * of(hidden);
  for (const auto& run : kinds()) {
    double block = 0;
    for (const auto& matrix : attention_matrices(run.kind.attention))
      block += of(matrix.inputs) * of(matrix.outputs);
    auto width = run.kind.has_experts ? experts.ffn * (experts.top_k + experts.shared) : ffn;
    block += of(feed_forward_matrices()) * of(hidden) * of(width);
    if (run.kind.has_experts) block += of(hidden) * of(experts.count);
    all += of(run.count) * block;
  }
  return all;
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
