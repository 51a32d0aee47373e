#include "sim/model/transformer.hpp"

#include <algorithm>

#include "sim/base/check.hpp"

namespace ddpsim {

std::int64_t Transformer::block_parameters() const {
  auto qkv = query_width() + 2 * key_width();
  auto matrices = hidden * qkv + query_width() * hidden + feed_forward_matrices() * hidden * ffn;
  auto norms = 2 * hidden * (norms_have_bias() ? 2 : 1);
  std::int64_t bias = 0;
  if (biases != Biases::none) bias += qkv;
  if (biases == Biases::all) bias += hidden + (feed_forward_matrices() - 1) * ffn + hidden;
  return matrices + norms + bias;
}

std::int64_t Transformer::parameters(std::int64_t sequence) const {
  auto embeddings = vocab * hidden * (tied ? 1 : 2) + position_rows(sequence) * hidden;
  auto final_norm = hidden * (norms_have_bias() ? 2 : 1);
  return layers * block_parameters() + embeddings + final_norm + extra_parameters;
}

double Transformer::multiplied_parameters() const {
  auto block = hidden * (query_width() + 2 * key_width()) + query_width() * hidden +
               feed_forward_matrices() * hidden * ffn;
  return static_cast<double>(layers) * static_cast<double>(block) +
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
