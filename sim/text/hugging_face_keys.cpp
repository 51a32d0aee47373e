#include "sim/text/hugging_face_keys.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "sim/base/source.hpp"
#include "sim/config/reader.hpp"

namespace ddpsim::hugging_face {
namespace {

using config::Value;

struct OtherFamily {
  std::string_view type, what;
};
constexpr std::string_view kStateSpace = "a state-space model", kHybrid = "state-space blocks and attention",
                           kTwoTowers = "two towers, of text and of pictures",
                           kPictures = "a tower of pictures", kBoth = "an encoder and a decoder";
constexpr std::array kOthers{OtherFamily{"mamba", kStateSpace},
                             OtherFamily{"mamba2", kStateSpace},
                             OtherFamily{"falcon_mamba", kStateSpace},
                             OtherFamily{"rwkv", "a recurrent model"},
                             OtherFamily{"recurrent_gemma", "recurrent blocks and attention"},
                             OtherFamily{"jamba", kHybrid},
                             OtherFamily{"bamba", kHybrid},
                             OtherFamily{"zamba", kHybrid},
                             OtherFamily{"zamba2", kHybrid},
                             OtherFamily{"nemotron_h", kHybrid},
                             OtherFamily{"falcon_h1", kHybrid},
                             OtherFamily{"granitemoehybrid", kHybrid},
                             OtherFamily{"clip", kTwoTowers},
                             OtherFamily{"siglip", kTwoTowers},
                             OtherFamily{"align", kTwoTowers},
                             OtherFamily{"vit", kPictures},
                             OtherFamily{"dinov2", kPictures},
                             OtherFamily{"clip_vision_model", kPictures},
                             OtherFamily{"t5", kBoth},
                             OtherFamily{"mt5", kBoth},
                             OtherFamily{"bart", kBoth},
                             OtherFamily{"whisper", kBoth}};

// Keys that are read, or change nothing of a block though their names could.
constexpr std::array kKnown{"hidden_size",
                            "num_hidden_layers",
                            "num_attention_heads",
                            "num_key_value_heads",
                            "num_kv_heads",
                            "head_dim",
                            "qk_head_dim",
                            "intermediate_size",
                            "intermediate_size_mlp",
                            "ffn_dim",
                            "ffn_hidden_size",
                            "n_heads",
                            "n_layers",
                            "kv_n_heads",
                            "moe_intermediate_size",
                            "n_routed_experts",
                            "num_routed_experts",
                            "num_experts",
                            "num_local_experts",
                            "num_experts_per_tok",
                            "num_experts_per_token",
                            "n_shared_experts",
                            "num_shared_experts",
                            "shared_expert_intermediate_size",
                            "first_k_dense_replace",
                            "moe_layer_freq",
                            "decoder_sparse_step",
                            "mlp_only_layers",
                            "interleave_moe_layer_step",
                            "moe_layers",
                            "q_lora_rank",
                            "kv_lora_rank",
                            "qk_nope_head_dim",
                            "qk_rope_head_dim",
                            "v_head_dim",
                            "num_nextn_predict_layers",
                            "layer_types",
                            "full_attention_interval",
                            "linear_num_key_heads",
                            "linear_num_value_heads",
                            "linear_key_head_dim",
                            "linear_value_head_dim",
                            "linear_conv_kernel_dim",
                            "sliding_window",
                            "sliding_window_size",
                            "sliding_window_pattern",
                            "_sliding_window_pattern",
                            "mlp_bias",
                            "max_window_layers",
                            "use_sliding_window",
                            "attention_chunk_size",
                            "no_rope_layers",
                            "no_rope_layer_interval",
                            "rotary_dim",
                            "rope_interleaved",
                            "num_ln_in_parallel_attn",
                            "router_aux_loss_coef",
                            "experts_per_group"};
constexpr std::array kTelling{"expert",
                              "moe",
                              "state_size",
                              "ssm",
                              "mamba",
                              "conv",
                              "lora_rank",
                              "heads",
                              "head_dim",
                              "hidden_size",
                              "intermediate",
                              "ffn_",
                              "layers",
                              "layer_types",
                              "layer_type",
                              "layer_interval",
                              "layer_period",
                              "layer_offset",
                              "window",
                              "sparse",
                              "interval",
                              "multi_query",
                              "new_decoder_architecture",
                              "embedding_size",
                              "proj_dim",
                              "kv_channels",
                              "mlp_bias",
                              "qk_norm",
                              "qk_layernorm",
                              "parallel_",
                              "post_norm",
                              "layernorm_before",
                              "post_layernorm"};

// Read of one family alone.
struct OwnKey {
  std::string_view type, key;
};
constexpr std::array kOwn{OwnKey{"falcon", "multi_query"},   OwnKey{"falcon", "new_decoder_architecture"},
                          OwnKey{"falcon", "parallel_attn"}, OwnKey{"gpt_neox", "use_parallel_residual"},
                          OwnKey{"glm4_moe", "use_qk_norm"}, OwnKey{"llama4_text", "use_qk_norm"}};

bool is_own(std::string_view type, std::string_view key) {
  return std::ranges::any_of(kOwn, [&](const OwnKey& own) { return own.type == type && own.key == key; });
}

// What a family computes otherwise where a key has not its usual value.
void check_usual(const Value& root, std::string_view type) {
  auto refuse = [&](const char* key, std::string_view usual, const char* what) {
    const auto* entry = root.find(key);
    if (entry && entry->value.kind == Value::Kind::scalar && entry->value.scalar != usual)
      throw InputError(entry->value.span, fmt::format("{} are not read", what),
                       "give the model's sizes as kind: transformer");
  };
  if (type == "opt") refuse("do_layer_norm_before", "true", "OPT's norms after the sum with the residual");
  if (type == "starcoder2") {
    refuse("mlp_type", "default", "StarCoder2's feed-forward layers of another kind");
    refuse("norm_type", "layer_norm", "StarCoder2's norms of another kind");
  }
}

bool is_nothing(const Value& value) {
  if (value.kind == Value::Kind::null) return true;
  if (value.kind == Value::Kind::scalar)
    return value.scalar.empty() || value.scalar == "false" || value.scalar == "0" || value.scalar == "0.0";
  return value.kind == Value::Kind::sequence ? value.items.empty() : value.entries.empty();
}

// Losses, noise and groups of a router change what it learns, and not what a block computes.
bool is_idle(std::string_view key) {
  constexpr std::array kIdle{"aux_loss",    "z_loss",  "jitter",    "_coef", "dropout", "hash", "_eps",
                             "bias_update", "output_", "use_cache", "init",  "_tp",     "_act", "ep_size"};
  return std::ranges::any_of(kIdle,
                             [&](const char* part) { return key.find(part) != std::string_view::npos; });
}

}  // namespace

std::optional<std::string_view> other_family(std::string_view type) {
  const auto* family = std::ranges::find(kOthers, type, &OtherFamily::type);
  return family == kOthers.end() ? std::nullopt : std::optional(family->what);
}

void check_family(const Value& root) {
  const auto* type = root.find("model_type");
  const auto* family =
      type ? std::ranges::find(kOthers, type->value.scalar, &OtherFamily::type) : kOthers.end();
  if (family != kOthers.end())
    throw InputError(
        type->value.span,
        fmt::format("'{}' is {}, not one stack of attention blocks", family->type, family->what),
        "only decoders and encoders of attention blocks are modelled; another model can be given "
        "as a list of layers (kind: model)");
  if (const auto* both = root.find("is_encoder_decoder");
      both && both->value.kind != Value::Kind::null && config::as_bool(both->value))
    throw InputError(both->value.span, "an encoder and a decoder are no stack of equal blocks",
                     "only one of either is modelled: give its sizes as kind: transformer");
}

void check_keys(const Value& root) {
  const auto* given_type = root.find("model_type");
  std::string_view type = given_type ? std::string_view(given_type->value.scalar) : std::string_view();
  check_usual(root, type);
  for (const auto& entry : root.entries) {
    const auto& key = entry.key;
    bool tells =
        std::ranges::any_of(kTelling, [&](const char* part) { return key.find(part) != std::string::npos; });
    bool is_known = std::ranges::count(kKnown, key) > 0 || is_idle(key) || is_own(type, key);
    if (!tells || is_known || is_nothing(entry.value) || entry.value.kind == Value::Kind::map) continue;
    bool is_hidden = key == "word_embed_proj_dim" && root.find("hidden_size") &&
                     root.find("hidden_size")->value.scalar == entry.value.scalar;
    if (is_hidden) continue;
    throw InputError(entry.key_span, fmt::format("'{}' may change what a block is, and is not known", key),
                     "give the model's sizes as kind: transformer, or remove the key if it changes neither "
                     "parameters nor attention");
  }
  if (const auto* mixture = root.find("ffn_config"); mixture && mixture->value.kind == Value::Kind::map)
    for (const auto& entry : mixture->value.entries)
      if (entry.key.find("expert") != std::string::npos && !is_nothing(entry.value))
        throw InputError(mixture->value.span, "a mixture of experts that is not read",
                         "give the model's sizes as kind: transformer, with experts, top_k and expert_ffn");
}

}  // namespace ddpsim::hugging_face
