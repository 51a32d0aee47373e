#pragma once
// A transformer by its sizes: embeddings, blocks of attention and feed-forward, a final norm and a head.
#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/model/attention.hpp"

namespace ddpsim {

// Which linear layers have biases. attention: its output's, too. All: LayerNorms have them, too, and the head
// has none.
enum class Biases { none, qkv, attention, feed_forward, all };

// Where a block has norms: before attention and feed-forward layer, after each, both; or one before both of
// them, which are computed side by side.
enum class BlockNorms { before, after, both, one };
inline constexpr Names<BlockNorms, 4> kBlockNormsNames{{{"before", BlockNorms::before},
                                                        {"after", BlockNorms::after},
                                                        {"both", BlockNorms::both},
                                                        {"one", BlockNorms::one}}};

// Norms of queries and keys: of each head, by weights of its width; of all together, by weights of theirs.
enum class HeadNorms { none, each, all };

// A mixture of experts: feed-forward layers of which a router sends each token to some.
struct Experts {
  std::int64_t count = 0;    // of a block; 0: every block has one feed-forward layer
  std::int64_t top_k = 0;    // that a token goes to
  std::int64_t ffn = 0;      // width of each
  std::int64_t shared = 0;   // on top, that every token goes to
  bool has_bias = false;     // of each expert's matrices
  bool router_bias = false;  // of the router, one an expert
  bool shared_gate = false;  // a row of the hidden width that weighs what shared experts give
  bool operator==(const Experts&) const = default;
};

struct BlockKind {
  AttentionKind attention = AttentionKind::full;
  bool has_experts = false;
  auto operator<=>(const BlockKind&) const = default;
};
// So many blocks of a kind, one after the other.
struct BlockRun {
  BlockKind kind;
  std::int64_t count = 1;
  bool operator==(const BlockRun&) const = default;
};

struct Transformer {
  std::string name;
  std::int64_t hidden = 0, layers = 0, heads = 0, kv_heads = 0;
  std::int64_t head_dim = 0;  // width of a head
  std::int64_t ffn = 0;       // width of the feed-forward layer
  std::int64_t vocab = 0;
  // Learned positions: rows of their embedding. 0: none (rotary and such). kAsLongAsTheSequence: built for
  // the sequence it is trained on.
  std::int64_t positions = 0;
  bool gated =
      false;  // feed-forward with a gate (SwiGLU): three matrices; its norms are RMSNorms, without bias
  bool rotary = false;  // rotary embeddings though nothing is gated
  bool tied = true;     // the head's matrix is the token embedding
  Biases biases = Biases::all;
  bool causal = true;                 // a token attends to those before it only
  std::int64_t extra_parameters = 0;  // of the head and the embedding, that nothing above counts
  Experts experts = {};
  std::int64_t window = 0;  // tokens of attention's window
  LatentAttention latent = {};
  LinearAttention linear = {};
  HeadNorms head_norms = HeadNorms::none;
  BlockNorms norms = BlockNorms::before;
  bool norm_bias = false;   // of LayerNorms, though not all linear layers have biases
  bool query_gate = false;  // the query's matrix makes as much again, which weighs the output
  bool sinks = false;       // a number a head, beside the scores
  // In order; empty: all of usual_kind().
  std::vector<BlockRun> blocks = {};

  static constexpr std::int64_t kAsLongAsTheSequence = -1;

  [[nodiscard]] std::int64_t query_width() const { return heads * head_dim; }
  [[nodiscard]] std::int64_t key_width() const { return kv_heads * head_dim; }
  [[nodiscard]] std::int64_t feed_forward_matrices() const { return gated ? 3 : 2; }
  [[nodiscard]] bool has_rotary_embeddings() const { return rotary || (gated && positions == 0); }
  [[nodiscard]] bool queries_have_bias() const {
    return biases != Biases::none && biases != Biases::feed_forward;
  }
  [[nodiscard]] bool attention_output_has_bias() const {
    return biases == Biases::all || biases == Biases::attention;
  }
  [[nodiscard]] bool feed_forward_has_bias() const {
    return biases == Biases::all || biases == Biases::feed_forward;
  }
  [[nodiscard]] bool norms_have_bias() const { return norm_bias || (biases == Biases::all && !gated); }
  [[nodiscard]] std::int64_t block_norms() const {
    return norms == BlockNorms::one ? 1 : norms == BlockNorms::both ? 4 : 2;
  }
  // Of one norm, as the last one is.
  [[nodiscard]] std::int64_t norm_parameters() const { return hidden * (norms_have_bias() ? 2 : 1); }
  [[nodiscard]] std::int64_t position_rows(std::int64_t sequence) const {
    return positions == kAsLongAsTheSequence ? sequence : positions;
  }
  [[nodiscard]] bool has_experts() const { return experts.count > 0; }
  [[nodiscard]] std::int64_t shared_width() const { return experts.shared * experts.ffn; }

  [[nodiscard]] AttentionWidths widths(AttentionKind kind) const;
  // Width of a head's query and key, by which attention's kernels are fast or slow.
  [[nodiscard]] std::int64_t head_width(AttentionKind kind) const;
  [[nodiscard]] std::vector<AttentionMatrix> attention_matrices(AttentionKind kind) const;
  // Biases, norms, sinks and what else is no matrix.
  [[nodiscard]] std::int64_t attention_vectors(AttentionKind kind) const;
  // Of scores and what they weigh, a token, with every token that it may meet in a sequence without a mask.
  [[nodiscard]] double attention_operations(AttentionKind kind, std::int64_t sequence) const;
  // Of these what a mask leaves.
  [[nodiscard]] double unmasked(AttentionKind kind, std::int64_t sequence) const;

  [[nodiscard]] BlockKind usual_kind() const;
  [[nodiscard]] BlockKind kind_of(std::int64_t block) const;
  // By block, of `count` from `first` on.
  [[nodiscard]] std::vector<BlockKind> kinds_of(std::int64_t first, std::int64_t count) const;
  // Each once, as runs of as many blocks as the model has of it.
  [[nodiscard]] std::vector<BlockRun> kinds() const;
  // The kind with most parameters.
  [[nodiscard]] BlockKind largest_kind() const;
  [[nodiscard]] std::int64_t blocks_with_experts() const;
  [[nodiscard]] bool has_linear_attention() const;
  // Of all experts of a block but the shared ones.
  [[nodiscard]] std::int64_t expert_parameters() const;
  [[nodiscard]] std::int64_t block_parameters(BlockKind kind) const;
  [[nodiscard]] std::int64_t block_parameters() const { return block_parameters(largest_kind()); }
  [[nodiscard]] std::int64_t parameters(std::int64_t sequence) const;
  // Of those a token meets: as if a block had no more experts than it goes to.
  [[nodiscard]] std::int64_t active_parameters(std::int64_t sequence) const;
  // Elements of the matrices that a token is multiplied with: of the blocks and the head.
  [[nodiscard]] double multiplied_parameters() const;

  bool operator==(const Transformer&) const = default;
};

// Models known by name, each with its source where it stands.
std::span<const Transformer> transformer_presets();
// Other names of models with just its sizes; empty: it is not known, or has none.
std::span<const std::string> transformer_aliases(std::string_view name);
std::span<const Transformer> gpt2_presets();  // GPT-2's among them
// Null: none of that name.
const Transformer* find_transformer(std::string_view name,
                                    std::span<const Transformer> among = transformer_presets());
const Transformer& transformer_named(std::string_view name);  // of a preset; an internal error otherwise

}  // namespace ddpsim
