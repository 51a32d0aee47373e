#include "sim/text/transformer_file.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "sim/base/limits.hpp"
#include "sim/config/reader.hpp"

namespace ddpsim {
namespace {

using config::MapReader;
using config::Value;

enum class TransformerKind { transformer };

Biases as_biases(const Value& value) {
  return config::as_word(
      config::Words<Biases>{{"true", Biases::all}, {"false", Biases::none}, {"qkv", Biases::qkv}})(value);
}

std::int64_t as_positions(const Value& value) {
  if (value.kind == Value::Kind::scalar && value.scalar == "sequence")
    return Transformer::kAsLongAsTheSequence;
  return config::as_integer(0, kMostTransformerWidth)(value);
}

auto as_width() {
  return config::as_integer(1, kMostTransformerWidth);
}

// Whole numbers of that size would overflow.
double parameters_as_double(const Transformer& model) {
  auto of = [](std::int64_t number) { return static_cast<double>(number); };
  double query = of(model.heads) * of(model.head_dim), key = of(model.kv_heads) * of(model.head_dim);
  double block = of(model.hidden) * (2 * query + 2 * key + of(model.feed_forward_matrices()) * of(model.ffn));
  return of(model.layers) * block + 2 * of(model.vocab) * of(model.hidden) + of(model.extra_parameters);
}

void check_heads(const Transformer& model, const SourceSpan& span) {
  if (model.heads % model.kv_heads != 0)
    throw InputError(span,
                     fmt::format("{} heads cannot share {} of keys evenly", model.heads, model.kv_heads),
                     "kv_heads divides heads");
  if (8 * parameters_as_double(model) > kLargestByteCount.value())
    throw InputError(span, "the model's parameters are more than 8 PiB as float64", "check the sizes");
}

// The first of several keys that is there and not null.
const Value* first(const Value& root, std::initializer_list<const char*> keys) {
  for (const char* key : keys)
    if (const auto* entry = root.find(key); entry && entry->value.kind != Value::Kind::null)
      return &entry->value;
  return nullptr;
}

const Value& needed(const Value& root, std::initializer_list<const char*> keys) {
  if (const auto* value = first(root, keys)) return *value;
  throw InputError(root.span, fmt::format("none of {} is there", fmt::join(keys, ", ")),
                   "a config.json of a transformer has one of them; kind: transformer has keys of its own");
}

std::string word_of(const Value* value, const char* fallback) {
  return value && value->kind == Value::Kind::scalar ? value->scalar : fallback;
}

template <std::size_t n>
bool is_one_of(const std::string& word, const std::array<const char*, n>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

constexpr std::array kGatedActivations{"silu", "swiglu", "geglu"};
constexpr std::array kGatedModels{"gemma", "gemma2", "gemma3_text"};
constexpr std::array kLearnedPositions{"gpt2", "opt", "gpt_neo", "bert", "roberta", "mpt"};
constexpr std::array kBiasedModels{"gpt2", "opt", "bert", "roberta", "mpt"};

std::int64_t feed_forward_width(const Value& root, std::int64_t hidden) {
  if (const auto* width = first(root, {"intermediate_size", "n_inner", "ffn_dim"})) return as_width()(*width);
  const auto* ratio = first(root, {"expansion_ratio"});
  return static_cast<std::int64_t>((ratio ? config::as_number(0.01, 1000)(*ratio) : 4.0) *
                                   static_cast<double>(hidden));
}

std::string positions_word(const Transformer& model) {
  return model.positions == Transformer::kAsLongAsTheSequence ? "sequence" : std::to_string(model.positions);
}

const char* biases_word(Biases biases) {
  return biases == Biases::all ? "true" : biases == Biases::none ? "false" : "qkv";
}

}  // namespace

std::string write_transformer(const Transformer& model) {
  return fmt::format(
      "kind: transformer\nname: \"{}\"\nhidden: {}\nlayers: {}\nheads: {}\nkv_heads: {}\nhead_dim: {}\nffn: "
      "{}\ngated: {}\nvocab: {}\ntied: {}\npositions: {}\nbias: {}\ncausal: {}\nextra_parameters: {}\n",
      model.name, model.hidden, model.layers, model.heads, model.kv_heads, model.head_dim, model.ffn,
      model.gated, model.vocab, model.tied, positions_word(model), biases_word(model.biases), model.causal,
      model.extra_parameters);
}

bool is_hugging_face_config(const Value& root) {
  return !root.find("kind") && first(root, {"hidden_size", "n_embd", "d_model"}) != nullptr;
}

Transformer read_transformer(const Value& root, const std::string& name) {
  MapReader reader(root, "model");
  reader.required(
      "kind", config::as_word(config::Words<TransformerKind>{{"transformer", TransformerKind::transformer}}));
  Transformer model;
  model.name = reader.optional("name", config::as_string).value_or(name);
  model.hidden = reader.required("hidden", as_width());
  model.layers = reader.required("layers", config::as_integer(1, kMostBlocks));
  const Value& heads = reader.require("heads");
  model.heads = as_width()(heads);
  model.kv_heads = reader.optional("kv_heads", as_width()).value_or(model.heads);
  auto head_dim = reader.optional("head_dim", as_width());
  if (!head_dim && model.hidden % model.heads != 0)
    throw InputError(heads.span,
                     fmt::format("{} values are not divided evenly by {} heads", model.hidden, model.heads),
                     "give head_dim, the width of a head");
  model.head_dim = head_dim.value_or(model.hidden / model.heads);
  model.ffn = reader.optional("ffn", as_width()).value_or(4 * model.hidden);
  model.gated = reader.optional("gated", config::as_bool).value_or(false);
  model.vocab = reader.required("vocab", as_width());
  model.tied = reader.optional("tied", config::as_bool).value_or(true);
  model.positions = reader.optional("positions", as_positions).value_or(0);
  model.biases = reader.optional("bias", as_biases).value_or(model.gated ? Biases::none : Biases::all);
  model.causal = reader.optional("causal", config::as_bool).value_or(true);
  model.extra_parameters =
      reader.optional("extra_parameters", config::as_integer(0, kMostElements)).value_or(0);
  reader.finish();
  check_heads(model, root.span);
  return model;
}

Transformer read_hugging_face_config(const Value& root, const std::string& name) {
  for (const char* experts :
       {"num_local_experts", "n_routed_experts", "num_experts", "moe_num_experts", "ffn_config"})
    if (const auto* value = first(root, {experts}); value && value->scalar != "0")
      throw InputError(value->span, "a mixture of experts is no dense transformer",
                       "only dense ones are modelled");
  if (const auto* value = first(root, {"is_encoder_decoder"}); value && config::as_bool(*value))
    throw InputError(value->span, "an encoder and a decoder are no stack of equal blocks",
                     "only one of either is modelled: give its sizes as kind: transformer");
  for (const char* shape : {"multi_query", "new_decoder_architecture", "num_kv_heads"})
    if (const auto* value = first(root, {shape}); value && value->scalar != "false")
      throw InputError(value->span, fmt::format("'{}' is a shape of attention that is not read", shape),
                       "give the model's sizes as kind: transformer (kv_heads: 1 is multi-query)");
  auto type = word_of(first(root, {"model_type"}), "");
  Transformer model;
  model.name = word_of(first(root, {"_name_or_path"}), name.c_str());
  if (model.name.empty()) model.name = name;
  model.hidden = as_width()(needed(root, {"hidden_size", "n_embd", "d_model"}));
  model.layers =
      config::as_integer(1, kMostBlocks)(needed(root, {"num_hidden_layers", "n_layer", "n_layers"}));
  const Value& heads = needed(root, {"num_attention_heads", "n_head", "n_heads"});
  model.heads = as_width()(heads);
  const auto* attention = first(root, {"attn_config"});
  const Value* kv_heads = first(root, {"num_key_value_heads"});
  if (!kv_heads && attention && attention->kind == Value::Kind::map)
    kv_heads = first(*attention, {"kv_n_heads"});
  model.kv_heads = kv_heads ? as_width()(*kv_heads) : model.heads;
  const auto* head_dim = first(root, {"head_dim"});
  if (!head_dim && model.hidden % model.heads != 0)
    throw InputError(heads.span,
                     fmt::format("{} values are not divided evenly by {} heads", model.hidden, model.heads),
                     "give its sizes as kind: transformer, with head_dim");
  model.head_dim = head_dim ? as_width()(*head_dim) : model.hidden / model.heads;
  model.ffn = feed_forward_width(root, model.hidden);
  model.gated =
      is_one_of(word_of(first(root, {"hidden_act", "hidden_activation", "activation_function"}), "gelu"),
                kGatedActivations) ||
      is_one_of(type, kGatedModels);
  model.vocab = as_width()(needed(root, {"vocab_size"}));
  const auto* tied = first(root, {"tie_word_embeddings"});
  model.tied = !tied || config::as_bool(*tied);
  // MPT's: ALiBi in place of learned positions, and no biases anywhere.
  const auto* alibi =
      attention && attention->kind == Value::Kind::map ? first(*attention, {"alibi"}) : nullptr;
  const auto* no_bias = first(root, {"no_bias"});
  if (is_one_of(type, kLearnedPositions) && !(alibi && config::as_bool(*alibi)))
    if (const auto* positions = first(root, {"max_position_embeddings", "n_positions", "max_seq_len"}))
      model.positions = as_width()(*positions);
  const auto* bias = first(root, {"attention_bias", "use_bias"});
  bool is_biased = bias      ? config::as_bool(*bias)
                   : no_bias ? !config::as_bool(*no_bias)
                             : is_one_of(type, kBiasedModels);
  // Qwen2 has biases in attention, whatever its config.json says (transformers, modeling_qwen2.py).
  model.biases = type == "qwen2" || (is_biased && model.gated) ? Biases::qkv
                 : is_biased                                   ? Biases::all
                                                               : Biases::none;
  model.causal = type != "bert" && type != "roberta";
  check_heads(model, root.span);
  return model;
}

std::optional<Note> hugging_face_note(const Value& root, const Transformer& model) {
  constexpr std::array kChecked{"gpt2", "llama", "mpt", "qwen2", "gemma"};  // transformer_file_test.cpp
  auto type = word_of(first(root, {"model_type"}), "");
  if (is_one_of(type, kChecked)) return std::nullopt;
  auto positions = model.positions > 0 ? fmt::format("{} learned positions", model.positions)
                                       : std::string("no learned positions");
  const char* biases = model.biases == Biases::none  ? "no biases"
                       : model.biases == Biases::qkv ? "biases of query, key and value only"
                                                     : "biases everywhere";
  double count = static_cast<double>(model.parameters(std::max<std::int64_t>(1, model.positions)));
  return Note{
      "model-type-unknown",
      fmt::format("{} is none whose parameters were checked ({}): it is read as {} blocks of width {}, "
                  "{} heads of {} ({} of keys), a feed-forward layer of {} {} a gate, a vocabulary of {} "
                  "{}, {}, {}, {} attention. That is {:.4g} parameters: compare with the published "
                  "count, and give the sizes as kind: transformer where it differs",
                  type.empty() ? std::string("a config.json without model_type")
                               : fmt::format("model_type '{}'", type),
                  fmt::join(kChecked, ", "), model.layers, model.hidden, model.heads, model.head_dim,
                  model.kv_heads, model.ffn, model.gated ? "with" : "without", model.vocab,
                  model.tied ? "shared with the head" : "and a head of its own", positions, biases,
                  model.causal ? "causal" : "full", count)};
}

}  // namespace ddpsim
