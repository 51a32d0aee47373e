#include "sim/text/hugging_face_config.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/limits.hpp"
#include "sim/config/reader.hpp"
#include "sim/text/hugging_face_blocks.hpp"
#include "sim/text/hugging_face_families.hpp"
#include "sim/text/hugging_face_keys.hpp"
#include "sim/text/hugging_face_values.hpp"
#include "sim/text/transformer_file.hpp"

namespace ddpsim::hugging_face {
namespace {

using config::Value;

constexpr std::array kGatedActivations{"silu", "swiglu", "geglu"};

// The text model of a wrapper of several, or the file itself.
Value text_model(const Value& root) {
  const auto* inner = first(root, {"text_config"});
  if (!inner || inner->kind != Value::Kind::map || first(root, {"hidden_size"})) return root;
  auto text = *inner;
  const auto* tied = root.find("tie_word_embeddings");
  if (tied && !text.find("tie_word_embeddings")) text.entries.push_back(*tied);
  return text;
}

std::int64_t feed_forward_width(const Value& root, std::int64_t hidden) {
  if (const auto* width = first(
          root, {"intermediate_size_mlp", "intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size"}))
    return as_size(*width);
  const auto* ratio = first(root, {"expansion_ratio"});
  return static_cast<std::int64_t>((ratio ? config::as_number(0.01, 1000)(*ratio) : 4.0) *
                                   static_cast<double>(hidden));
}

// MPT has a section of attention.
const Value* first_of_attention(const Value& root, const char* key) {
  const auto* attention = first(root, {"attn_config"});
  return attention && attention->kind == Value::Kind::map ? first(*attention, {key}) : nullptr;
}

// Falcon's keys and values (modeling_falcon.py): one head, or as many as num_kv_heads says.
const Value* kv_heads_of(const Value& root) {
  if (const auto* heads = first(root, {"num_key_value_heads"})) return heads;
  if (type_of(root) == "falcon")
    return is_true(first(root, {"new_decoder_architecture"}), false) ? first(root, {"num_kv_heads"})
                                                                     : nullptr;
  return first_of_attention(root, "kv_n_heads");
}

void read_latent(const Value& root, Transformer& model) {
  auto& latent = model.latent;
  latent.query_rank = size_of(root, {"q_lora_rank"});
  latent.rank = size_of(root, {"kv_lora_rank"});
  latent.nope = as_size(needed(root, {"qk_nope_head_dim"}));
  latent.rope = as_size(needed(root, {"qk_rope_head_dim"}));
  latent.value = as_size(needed(root, {"v_head_dim"}));
  if (const auto* bias = first(root, {"attention_bias"}); bias && config::as_bool(*bias))
    throw InputError(bias->span, "biases of latent attention are not read",
                     "set it to false if there are none");
  model.kv_heads = model.heads;
  model.head_dim = latent.nope + latent.rope;
}

std::int64_t size_or(const Value& root, Keys keys, std::int64_t usual) {
  return usual > 0 && !first(root, keys) ? usual : as_size(needed(root, keys));
}

void read_heads(const Value& root, const Family& family, Transformer& model) {
  const Keys names{"num_attention_heads", "n_head", "n_heads"};
  model.heads = size_or(root, names, family.heads);
  if (size_of(root, {"kv_lora_rank"}) > 0) return read_latent(root, model);
  bool is_multi_query = family.type == "falcon" && is_true(first(root, {"multi_query"}), true);
  const auto* kv_heads = kv_heads_of(root);
  auto usual = is_multi_query ? 1 : family.kv_heads > 0 ? family.kv_heads : model.heads;
  model.kv_heads = kv_heads ? as_size(*kv_heads) : usual;
  const auto* head_dim = first(root, {"head_dim"});
  if (!head_dim && family.head_dim == 0 && model.hidden % model.heads != 0)
    throw InputError(needed(root, names).span,
                     fmt::format("{} values are not divided evenly by {} heads", model.hidden, model.heads),
                     "give its sizes as kind: transformer, with head_dim");
  model.head_dim = head_dim              ? as_size(*head_dim)
                   : family.head_dim > 0 ? family.head_dim
                                         : model.hidden / model.heads;
}

Biases biases_of(const Value& root, const Family& family, bool is_gated) {
  const auto *bias = first(root, {"attention_bias", "use_bias", "bias"}), *no_bias = first(root, {"no_bias"});
  auto biases = family.biases;
  // Of a family that nobody checked: a gate goes with biases of query, key and value.
  auto biased = family.type.empty() && is_gated ? Biases::qkv : family.biased;
  if (bias)
    biases = config::as_bool(*bias) ? biased : family.unbiased;
  else if (no_bias)
    biases = config::as_bool(*no_bias) ? Biases::none : biased;
  const auto* of_feed_forward = first(root, {"mlp_bias"});
  if (!of_feed_forward || !config::as_bool(*of_feed_forward)) return biases;
  if (biases == Biases::none || biases == Biases::feed_forward) return Biases::feed_forward;
  if (biases == Biases::attention || biases == Biases::all) return Biases::all;
  throw InputError(of_feed_forward->span,
                   "biases of query, key, value and the feed-forward layer alone are not read",
                   "give the model's sizes as kind: transformer");
}

// How wide shared experts are together, as so many of an expert's width.
std::int64_t shared_experts(const Value& root, const std::string& type, const Experts& experts) {
  if (type.starts_with("llama4")) return 1;
  const auto* shared = first(root, {"shared_expert_intermediate_size"});
  if (!shared) return size_of(root, {"n_shared_experts", "num_shared_experts"});
  auto columns = size_of(root, {"shared_expert_intermediate_size"});
  if (columns % experts.ffn != 0)
    throw InputError(
        shared->span,
        fmt::format("a shared expert of {} columns is not as wide as whole ones of {}", columns, experts.ffn),
        "give the model's sizes as kind: transformer");
  return columns / experts.ffn;
}

void read_experts(const Value& root, const std::string& type, Transformer& model) {
  const auto* count =
      first(root, {"num_local_experts", "n_routed_experts", "num_routed_experts", "num_experts"});
  auto number = config::as_integer(0, kMostExperts);
  if (!count || number(*count) == 0) return;
  auto& experts = model.experts;
  experts.count = number(*count);
  experts.top_k =
      config::as_integer(1, kMostExperts)(needed(root, {"num_experts_per_tok", "num_experts_per_token"}));
  // Llama 4's experts are as wide as intermediate_size says, its blocks without as intermediate_size_mlp.
  const auto* width = first(root, {"moe_intermediate_size"});
  if (!width && first(root, {"intermediate_size_mlp"})) width = first(root, {"intermediate_size"});
  experts.ffn = width ? as_size(*width) : model.ffn;
  experts.shared = shared_experts(root, type, experts);
  experts.shared_gate = experts.shared > 0 && first(root, {"shared_expert_intermediate_size"});
  experts.has_bias = type == "gpt_oss";
  experts.router_bias = type == "gpt_oss" || type == "glm4_moe" ||
                        word_of(first(root, {"topk_method"}), "") == "noaux_tc" ||
                        word_of(first(root, {"scoring_func"}), "") == "sigmoid";
}

// What a block has beyond its matrices.
void add_norms(const Value& root, const Family& family, Transformer& model) {
  model.norms = family.norms;
  model.norm_bias = family.norm_bias && model.biases != Biases::all;
  model.head_norms = family.head_norms;
  model.query_gate = family.type == "qwen3_next";
  model.sinks = family.type == "gpt_oss";
  if (family.type == "glm4_moe" && is_true(first(root, {"use_qk_norm"}), false))
    model.head_norms = HeadNorms::each;
  // One norm for both, unless it is told otherwise or of the later architecture (modeling_falcon.py).
  if (family.type == "falcon" && is_true(first(root, {"parallel_attn"}), true)) {
    bool is_later = is_true(first(root, {"new_decoder_architecture"}), false);
    auto norms = size_of(root, {"num_ln_in_parallel_attn"});
    if (norms == 1 || (norms == 0 && !is_later)) model.norms = BlockNorms::one;
  }
}

// Positions, token types and biases of the ends, by family.
void add_ends(const Value& root, const Family& family, Transformer& model) {
  // ALiBi stands in place of learned positions, and of rotary ones.
  bool is_alibi = is_true(first_of_attention(root, "alibi"), false) || is_true(first(root, {"alibi"}), false);
  model.rotary = family.is_rotary && !is_alibi;
  if (family.has_positions && !is_alibi)
    if (const auto* rows = first(root, {"max_position_embeddings", "n_positions", "max_seq_len"}))
      model.positions = as_size(*rows);
  auto h = model.hidden;
  if (family.type == "opt") model.extra_parameters += family.more_positions * h;
  // Of RoBERTa's rows two are none of a token's.
  if (family.type == "roberta" && model.positions > family.more_positions) {
    model.positions -= family.more_positions;
    model.extra_parameters += family.more_positions * h;
  }
  // Token types and the pooler (modeling_bert.py).
  if (family.type == "bert" || family.type == "roberta") {
    const auto* types = first(root, {"type_vocab_size"});
    model.extra_parameters += (types ? as_size(*types) : 2) * h + h * h + h;
  }
  if (family.type == "bloom") model.extra_parameters += 2 * h;       // a norm after the embedding
  if (family.type == "gptj") model.extra_parameters += model.vocab;  // biases of the head
}

}  // namespace
}  // namespace ddpsim::hugging_face

namespace ddpsim {

using config::Value;

bool is_hugging_face_config(const Value& root) {
  return !root.find("kind") && hugging_face::first(root, {"hidden_size", "n_embd", "n_embed", "d_model",
                                                          "text_config", "model_type"}) != nullptr;
}

Transformer read_hugging_face_config(const Value& file, const std::string& name) {
  using namespace hugging_face;
  check_family(file);
  auto root = text_model(file);
  check_family(root);
  check_keys(root);
  auto type = type_of(root);
  Transformer model;
  model.name = word_of(first(root, {"_name_or_path"}), "");
  if (model.name.empty()) model.name = word_of(first(file, {"_name_or_path"}), "");
  if (model.name.empty()) model.name = name;
  const auto& family = family_of(type);
  model.hidden = as_size(needed(root, {"hidden_size", "n_embd", "n_embed", "d_model"}));
  model.layers =
      config::as_integer(1, kMostBlocks)(needed(root, {"num_hidden_layers", "n_layer", "n_layers"}));
  read_heads(root, family, model);
  model.ffn = feed_forward_width(root, model.hidden);
  auto activation = word_of(first(root, {"hidden_act", "hidden_activation", "activation_function"}), "gelu");
  model.gated =
      std::ranges::find(kGatedActivations, activation) != kGatedActivations.end() || family.is_gated;
  model.vocab = size_or(root, {"vocab_size"}, family.vocab);
  model.tied = is_true(first(root, {"tie_word_embeddings"}), family.is_tied);
  model.biases = biases_of(root, family, model.gated);
  model.causal = family.is_causal;
  add_ends(root, family, model);
  read_experts(root, type, model);
  read_blocks(root, type, model);
  add_norms(root, family, model);
  if (model.has_experts()) check_experts(model, root.span);
  check_sizes(model, root.span);
  return model;
}

namespace {

std::optional<Note> note_of_type(const Value& root, const Transformer& model) {
  using namespace hugging_face;
  auto type = type_of(root);
  if (family_of(type).is_checked) return std::nullopt;
  auto positions = model.positions > 0 ? fmt::format("{} learned positions", model.positions)
                                       : std::string("no learned positions");
  const char* biases = model.biases == Biases::none           ? "no biases"
                       : model.biases == Biases::qkv          ? "biases of query, key and value only"
                       : model.biases == Biases::attention    ? "biases of attention only"
                       : model.biases == Biases::feed_forward ? "biases of the feed-forward layer only"
                                                              : "biases everywhere";
  double count = static_cast<double>(model.parameters(std::max<std::int64_t>(1, model.positions)));
  return Note{"model-type-unknown",
              fmt::format("{} is none whose parameters were checked ({}): it is read as {} "
                          "blocks of width {}, "
                          "{} heads of {} ({} of keys), a feed-forward layer of {} {} a gate, "
                          "a vocabulary of {} "
                          "{}, {}, {}, {} attention. That is {:.4g} parameters: compare with the published "
                          "count, and give the sizes as kind: transformer where it differs",
                          type.empty() ? std::string("a config.json without model_type")
                                       : fmt::format("model_type '{}'", type),
                          fmt::join(checked_types(), ", "), model.layers, model.hidden, model.heads,
                          model.head_dim, model.kv_heads, model.ffn, model.gated ? "with" : "without",
                          model.vocab, model.tied ? "shared with the head" : "and a head of its own",
                          positions, biases, model.causal ? "causal" : "full", count)};
}

// Other models of a wrapper, and blocks that predict further tokens: one more of the last kind each, with a
// projection of two hidden values and three norms.
std::vector<Note> notes_of_the_rest(const Value& file, const Value& root, const Transformer& model) {
  std::vector<Note> notes;
  std::vector<std::string> towers;
  if (file.find("text_config"))
    for (const auto& entry : file.entries)
      if (entry.key.ends_with("_config") && entry.key != "text_config" &&
          entry.key != "quantization_config" && entry.value.kind == Value::Kind::map)
        towers.push_back(entry.key);
  if (!towers.empty())
    notes.push_back({"model-towers-left-out",
                     fmt::format("only the text model is read ('text_config'); {} is left out: its time and "
                                 "memory are in nothing",
                                 fmt::join(towers, ", "))});
  for (const auto* stored : {file.find("quantization_config"), root.find("quantization_config")})
    if (stored && stored->value.kind == Value::Kind::map) {
      auto method = hugging_face::word_of(hugging_face::first(stored->value, {"quant_method"}), "");
      notes.push_back({"model-quantization-left-out",
                       fmt::format("'quantization_config'{} says how weights are stored: a step computes in "
                                   "workload.dtype and holds as many bytes a parameter",
                                   method.empty() ? "" : fmt::format(" ({})", method))});
      break;
    }
  auto more = hugging_face::size_of(root, {"num_nextn_predict_layers"});
  if (more > 0) {
    auto one = model.block_parameters(model.kind_of(model.layers - 1)) + 2 * model.hidden * model.hidden +
               3 * model.hidden;
    notes.push_back(
        {"model-prediction-left-out",
         fmt::format("{} to predict further tokens (MTP, {:.4g} parameters) is left out: training "
                     "with it takes as much longer as so many more blocks and heads do",
                     more == 1 ? std::string("a block") : fmt::format("a stack of {} blocks", more),
                     static_cast<double>(more * one))});
  }
  return notes;
}

}  // namespace

std::vector<Note> hugging_face_notes(const Value& file, const Transformer& model) {
  auto root = hugging_face::text_model(file);
  auto notes = notes_of_the_rest(file, root, model);
  if (auto note = note_of_type(root, model)) notes.push_back(*std::move(note));
  return notes;
}

}  // namespace ddpsim
