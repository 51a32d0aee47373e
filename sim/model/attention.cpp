// What attention of each kind is made of: transformers' modeling_deepseek_v3.py (latent),
// modeling_qwen3_next.py (linear), modeling_qwen3.py (norms of heads),
// modeling_olmo2.py (norms of all of them), modeling_gpt_oss.py (sinks).
#include "sim/model/attention.hpp"

#include <algorithm>

#include "sim/model/transformer.hpp"

namespace ddpsim {

AttentionWidths Transformer::widths(AttentionKind kind) const {
  switch (kind) {
    case AttentionKind::full:
    case AttentionKind::window:
      break;
    case AttentionKind::latent: {
      auto head = latent.nope + latent.rope;
      return {heads * head, heads * head, heads * latent.value, heads * latent.value,
              (heads + 1) * latent.rope};
    }
    case AttentionKind::linear:
      return {linear.key_width(), linear.key_width(), linear.value_width(), linear.value_width(), 0};
  }
  return {query_width(), key_width(), key_width(), query_width(), query_width() + key_width()};
}

std::int64_t Transformer::head_width(AttentionKind kind) const {
  if (kind == AttentionKind::latent) return latent.nope + latent.rope;
  return kind == AttentionKind::linear ? linear.key_dim : head_dim;
}

std::vector<AttentionMatrix> Transformer::attention_matrices(AttentionKind kind) const {
  auto of = widths(kind);
  if (kind == AttentionKind::latent) {
    std::vector<AttentionMatrix> all;
    if (latent.query_rank > 0) all.push_back({hidden, latent.query_rank, true});
    all.push_back({latent.query_rank > 0 ? latent.query_rank : hidden, of.query});
    all.push_back({hidden, latent.rank + latent.rope, true});
    all.push_back({latent.rank, heads * (latent.nope + latent.value)});
    all.push_back({of.output, hidden, false, true});
    return all;
  }
  if (kind == AttentionKind::linear)  // query, key, value and a gate; two numbers a head
    return {{hidden, 2 * of.key + 2 * of.value},
            {hidden, 2 * linear.value_heads},
            {of.output, hidden, false, true}};
  return {{hidden, of.query * (query_gate ? 2 : 1)},
          {hidden, of.key},
          {hidden, of.value},
          {of.output, hidden, false, true}};
}

std::int64_t Transformer::attention_vectors(AttentionKind kind) const {
  if (kind == AttentionKind::latent) return latent.query_rank + latent.rank;
  if (kind == AttentionKind::linear)
    return linear.conv * (2 * linear.key_width() + linear.value_width()) + 2 * linear.value_heads +
           linear.value_dim;
  std::int64_t all = sinks ? heads : 0;
  if (head_norms == HeadNorms::each) all += 2 * head_dim;
  if (head_norms == HeadNorms::all) all += query_width() + key_width();
  if (queries_have_bias()) all += query_width() * (query_gate ? 2 : 1) + 2 * key_width();
  if (attention_output_has_bias()) all += hidden;
  return all;
}

// 2 operations a product and sum: scores of queries with keys, and what they weigh of values. Of linear
// attention in chunks of C = 64 tokens: a state of key by value a head, read and written, and the products
// within a chunk (counted, not measured).
double Transformer::attention_operations(AttentionKind kind, std::int64_t sequence) const {
  auto of = widths(kind);
  if (kind == AttentionKind::linear) {
    constexpr double kChunk = 64;
    auto n = static_cast<double>(linear.value_heads), key = static_cast<double>(linear.key_dim),
         value = static_cast<double>(linear.value_dim);
    return 4 * n * key * value + 2 * kChunk * n * (2 * key + value);
  }
  auto met = kind == AttentionKind::window ? std::min(window, sequence) : sequence;
  return 2.0 * static_cast<double>(met) * static_cast<double>(of.query + of.output);
}

// The i-th token meets i, or a window w of them: in the mean s/2, or w - w^2 / 2s.
double Transformer::unmasked(AttentionKind kind, std::int64_t sequence) const {
  if (!causal || kind == AttentionKind::linear) return 1;
  if (kind != AttentionKind::window || window >= sequence) return 0.5;
  return 1 - static_cast<double>(window) / (2 * static_cast<double>(sequence));
}

}  // namespace ddpsim
