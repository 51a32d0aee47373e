#include "sim/text/hugging_face_blocks.hpp"

#include <algorithm>
#include <vector>

#include <fmt/core.h>

#include "sim/base/limits.hpp"
#include "sim/text/hugging_face_values.hpp"

namespace ddpsim::hugging_face {
namespace {

using config::Value;

// `entries`: so many; 0: any number.
void require_list(const Value& value, std::int64_t entries = 0) {
  if (value.kind != Value::Kind::sequence)
    throw InputError(value.span, "expected a list", "write it like [0, 1]");
  if (entries > 0 && std::ssize(value.items) != entries)
    throw InputError(value.span, fmt::format("a list of {} for {} blocks", value.items.size(), entries),
                     "give each block its own");
}

// Whether block i has experts.
class Sparse {
 public:
  Sparse(const Value& root, bool has_experts, std::int64_t layers) : has_experts_(has_experts) {
    if (!has_experts) return;
    auto blocks = config::as_integer(0, kMostBlocks);
    auto numbers = [&](const Value& list) {
      require_list(list);
      std::vector<std::int64_t> all;
      for (const auto& item : list.items) all.push_back(blocks(item));
      return all;
    };
    first_ = size_of(root, {"first_k_dense_replace"});
    if (const auto* dense = first(root, {"mlp_only_layers"})) dense_ = numbers(*dense);
    if (const auto* mixed = first(root, {"moe_layers"})) mixed_ = numbers(*mixed);
    const auto* step = first(root, {"interleave_moe_layer_step", "decoder_sparse_step", "moe_layer_freq"});
    if (!step) return;
    if (step->kind == Value::Kind::sequence) {
      require_list(*step, layers);
      flags_ = numbers(*step);
    } else {
      step_ = config::as_integer(1, kMostBlocks)(*step);
      // DeepSeek's count from block 0 (modeling_deepseek.py), Qwen's and Llama 4's from 1.
      if (step == first(root, {"moe_layer_freq"})) offset_ = 0;
    }
  }

  [[nodiscard]] bool at(std::int64_t block) const {
    if (!has_experts_ || block < first_ || std::ranges::count(dense_, block)) return false;
    if (!mixed_.empty()) return std::ranges::count(mixed_, block) > 0;
    auto place = static_cast<std::size_t>(block);
    if (!flags_.empty()) return place < flags_.size() && flags_[place] != 0;
    return (block + offset_) % step_ == 0;
  }

 private:
  bool has_experts_;
  std::int64_t first_ = 0, step_ = 1, offset_ = 1;
  std::vector<std::int64_t> dense_, mixed_, flags_;
};

void read_linear(const Value& root, Transformer& model) {
  model.linear = {
      as_size(needed(root, {"linear_num_key_heads"})), as_size(needed(root, {"linear_num_value_heads"})),
      as_size(needed(root, {"linear_key_head_dim"})), as_size(needed(root, {"linear_value_head_dim"})),
      as_size(needed(root, {"linear_conv_kernel_dim"}))};
}

// How block i attends.
class Attending {
 public:
  Attending(const Value& root, const std::string& type, Transformer& model)
      : usual_(model.usual_kind().attention) {
    model.window = size_of(root, {"sliding_window", "sliding_window_size", "attention_chunk_size"});
    // Qwen's have none unless they say so (configuration_qwen2.py).
    bool uses_window = is_true(first(root, {"use_sliding_window"}), !type.starts_with("qwen"));
    if (!uses_window) model.window = 0;
    if (const auto* types = first(root, {"layer_types"})) {
      require_list(*types, model.layers);
      for (const auto& item : types->items) {
        auto kind = named(item);
        if (kind == AttentionKind::window &&
            (usual_ == AttentionKind::latent || (uses_window && model.window == 0)))
          throw InputError(item.span,
                           usual_ == AttentionKind::latent ? "windows of latent attention are not read"
                                                           : "a window of how many tokens is not said",
                           "give sliding_window, or the model's sizes as kind: transformer");
        listed_.push_back(kind == AttentionKind::window && !uses_window ? AttentionKind::full : kind);
      }
      if (std::ranges::count(listed_, AttentionKind::linear)) read_linear(root, model);
      return;
    }
    linear_every_ = size_of(root, {"full_attention_interval"});
    if (linear_every_ == 0 && type == "qwen3_next") linear_every_ = 4;  // configuration_qwen3_next.py
    if (linear_every_ > 0) read_linear(root, model);
    if (model.window == 0) return;
    from_ = type.starts_with("qwen") ? size_of(root, {"max_window_layers"}) : 0;
    // modeling_gemma2.py, modeling_gpt_oss.py: every other block; modeling_llama4.py: all but every fourth.
    every_ = size_of(root, {"sliding_window_pattern", "_sliding_window_pattern", "no_rope_layer_interval"});
    if (every_ > 0) return;
    every_ = type == "gemma2" || type == "gpt_oss" ? 2
             : type.starts_with("llama4")          ? 4
             : type == "gemma3_text"               ? 6
                                                   : 0;
  }

  [[nodiscard]] AttentionKind at(std::int64_t block, const Transformer& model) const {
    auto place = static_cast<std::size_t>(block);
    if (!listed_.empty()) {
      auto kind = place < listed_.size() ? listed_[place] : AttentionKind::full;
      return kind == AttentionKind::full ? usual_ : kind;
    }
    if (linear_every_ > 0 && (block + 1) % linear_every_ != 0) return AttentionKind::linear;
    if (model.window == 0 || block < from_ || usual_ == AttentionKind::latent) return usual_;
    bool is_full = every_ > 0 && (block + 1) % every_ == 0;
    return is_full ? AttentionKind::full : AttentionKind::window;
  }

 private:
  static AttentionKind named(const Value& value) {
    return config::as_word(config::Words<AttentionKind>{{"full_attention", AttentionKind::full},
                                                        {"linear_attention", AttentionKind::linear},
                                                        {"sliding_attention", AttentionKind::window},
                                                        {"chunked_attention", AttentionKind::window}})(value);
  }
  AttentionKind usual_;
  std::vector<AttentionKind> listed_;
  std::int64_t linear_every_ = 0, from_ = 0, every_ = 0;
};

}  // namespace

void read_blocks(const Value& root, const std::string& type, Transformer& model) {
  Sparse sparse(root, model.has_experts(), model.layers);
  Attending attending(root, type, model);
  for (std::int64_t block = 0; block < model.layers; ++block) {
    BlockKind kind{attending.at(block, model), sparse.at(block)};
    if (model.blocks.empty() || model.blocks.back().kind != kind) model.blocks.push_back({kind, 0});
    ++model.blocks.back().count;
  }
  bool has_windows = std::ranges::any_of(
      model.blocks, [](const BlockRun& run) { return run.kind.attention == AttentionKind::window; });
  if (!has_windows) model.window = 0;
  if (model.blocks.size() == 1 && model.blocks.front().kind == model.usual_kind()) model.blocks.clear();
}

}  // namespace ddpsim::hugging_face
