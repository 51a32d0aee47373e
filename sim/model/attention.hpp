#pragma once
// How a block of a transformer attends: widths, matrices and operations of each kind.
#include <cstdint>
#include <vector>

#include "sim/base/names.hpp"

namespace ddpsim {

// full: to all tokens before; window: to the last so many; linear: by a state that tokens update (gated delta
// rule: Yang, Kautz and Hatamizadeh, arXiv 2412.06464); latent: to keys and values made of a few
// (DeepSeek-V2, arXiv 2405.04434).
enum class AttentionKind { full, window, linear, latent };
inline constexpr Names<AttentionKind, 4> kAttentionKindNames{{{"full", AttentionKind::full},
                                                              {"window", AttentionKind::window},
                                                              {"linear", AttentionKind::linear},
                                                              {"latent", AttentionKind::latent}}};

// Ranks of what queries, and keys with values, are made of (0: queries are made of the hidden values); what a
// head's query and key have without and with a position, and its value.
struct LatentAttention {
  std::int64_t query_rank = 0, rank = 0, nope = 0, rope = 0, value = 0;
  bool operator==(const LatentAttention&) const = default;
};

struct LinearAttention {
  std::int64_t key_heads = 0, value_heads = 0, key_dim = 0, value_dim = 0, conv = 0;
  [[nodiscard]] std::int64_t key_width() const { return key_heads * key_dim; }
  [[nodiscard]] std::int64_t value_width() const { return value_heads * value_dim; }
  bool operator==(const LinearAttention&) const = default;
};

// Values a token has of each, of all heads.
struct AttentionWidths {
  std::int64_t query = 0, key = 0, value = 0, output = 0;
  std::int64_t rotated = 0;  // by rotary embeddings, where there are any
};

struct AttentionMatrix {
  std::int64_t inputs = 0, outputs = 0;
  bool is_down = false;    // to a latent's rank: whole on every GPU of a tensor-parallel group
  bool is_output = false;  // the last one
};

}  // namespace ddpsim
