#include "sim/text/transformer_file.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "sim/base/limits.hpp"
#include "sim/keys/types.hpp"
#include "sim/text/file_rows.hpp"

namespace ddpsim::transformer_keys {
namespace {

using namespace keys;

// `kind: transformer`, where some defaults follow from other keys.
struct TransformerFile {
  Transformer model = {};
  std::optional<std::int64_t> kv_heads = {}, head_dim = {}, ffn = {}, expert_ffn = {};
  std::optional<Biases> biases = {};
};

constexpr std::array kMixtureKeys{"top_k", "expert_ffn", "shared_experts", "dense_layers"};

void check_mixture(const TransformerFile&, const Cursor& at) {
  if (at.has("experts")) {
    if (!at.has("top_k")) throw config::lacks_key(at.place(), "model", "top_k");
    return;
  }
  for (const char* key : kMixtureKeys)
    if (at.has(key))
      throw InputError(at.place(key), fmt::format("'{}' of a model without experts", key),
                       "add experts, their number in a block");
}

// A number, or `sequence`.
Type<std::int64_t> positions() {
  using I = std::int64_t;
  auto number = whole<I>(0, kMostTransformerWidth);
  auto parse = [number](const Value& value) {
    return config::is_word(value, "sequence") ? Transformer::kAsLongAsTheSequence : read_alone(number, value);
  };
  auto print = [](const I& rows) {
    return rows == Transformer::kAsLongAsTheSequence ? std::string("sequence") : std::to_string(rows);
  };
  return scalar_type<I>(parse, print, {Shape::Kind::integer, 0, kMostTransformerWidth, {"sequence"}});
}

const Section& transformer_rows() {
  using F = TransformerFile;
  using T = Transformer;
  constexpr auto model = &F::model;
  constexpr auto experts = &T::experts;
  auto width = whole<std::int64_t>(1, kMostTransformerWidth),
       some = whole<std::int64_t>(0, kMostTransformerWidth);
  auto blocks = whole<std::int64_t>(1, kMostBlocks), count = whole<std::int64_t>(1, kMostExperts);
  auto biases =
      word(config::Words<Biases>{{"true", Biases::all}, {"false", Biases::none}, {"qkv", Biases::qkv}});
  static const Section section =
      Rows<F>("model")
          .kind("transformer")
          .key<model, &T::name>("name", text(), "Of the model")
          .needs<model, &T::hidden>("hidden", width, "Width of a block")
          .needs<model, &T::layers>("layers", blocks, "Blocks")
          .needs<model, &T::heads>("heads", width, "Of queries")
          .key<&F::kv_heads>("kv_heads", maybe(width), "Of keys and values")
          .key<&F::head_dim>("head_dim", maybe(width), "Width of a head")
          .key<&F::ffn>("ffn", maybe(width), "Width of the feed-forward layer")
          .key<model, &T::gated>("gated", boolean(), "A third feed-forward matrix; norms are RMSNorms")
          .needs<model, &T::vocab>("vocab", width, "Tokens there are")
          .key<model, &T::tied>("tied", boolean(), "The head's matrix is the token embedding")
          .key<model, &T::positions>("positions", positions(), "Rows of learned positions")
          .key<&F::biases>("bias", maybe(biases), "Linear layers that have one")
          .key<model, &T::causal>("causal", boolean(), "A token attends to those before it only")
          .key<model, &T::extra_parameters>("extra_parameters", whole<std::int64_t>(0, kMostElements),
                                            "That nothing above counts")
          .key<model, experts, &Experts::count>("experts", count, "Of a block")
          .key<model, experts, &Experts::top_k>("top_k", count, "That a token goes to")
          .key<&F::expert_ffn>("expert_ffn", maybe(width), "Width of each")
          .key<model, experts, &Experts::shared>("shared_experts", some, "On top, that every token goes to")
          .key<model, experts, &Experts::dense_layers>("dense_layers", some, "First blocks without experts")
          .check(check_mixture);
  return section;
}

}  // namespace
}  // namespace ddpsim::transformer_keys

namespace ddpsim {
namespace {

using config::Value;

auto as_width() {
  return config::as_integer(1, kMostTransformerWidth);
}

// Whole numbers of that size would overflow.
double parameters_as_double(const Transformer& model) {
  auto of = [](std::int64_t number) { return static_cast<double>(number); };
  double query = of(model.heads) * of(model.head_dim), key = of(model.kv_heads) * of(model.head_dim);
  const auto& experts = model.experts;
  double width = std::max(of(model.ffn), (of(experts.count) + of(experts.shared)) * of(experts.ffn));
  double block = of(model.hidden) *
                 (2 * query + 2 * key + of(experts.count) + of(model.feed_forward_matrices()) * width);
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

void check_experts(const Experts& experts, std::int64_t layers, const SourceSpan& span) {
  if (experts.top_k > experts.count)
    throw InputError(
        span, fmt::format("a token goes to {} experts, and there are {}", experts.top_k, experts.count),
        "top_k is the number of experts at most");
  if (experts.dense_layers >= layers)
    throw InputError(span,
                     fmt::format("the first {} of {} layers have no experts", experts.dense_layers, layers),
                     "leave experts out, or fewer layers without them");
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

// Mixtral's experts are as wide as intermediate_size says; Qwen's and
// DeepSeek's have a width of their own, and blocks without experts the other.
// Qwen2's shared ones have a gate (modeling_qwen2_moe.py), Qwen3's heads have
// norms of queries and keys (modeling_qwen3_moe.py), which count as extra
// parameters.
void read_hugging_face_experts(const Value& root, const std::string& type, Transformer& model) {
  const auto* count = first(root, {"num_local_experts", "n_routed_experts", "num_experts"});
  auto number = config::as_integer(0, kMostExperts);
  if (!count || number(*count) == 0) return;
  auto& experts = model.experts;
  experts.count = number(*count);
  experts.top_k = number(needed(root, {"num_experts_per_tok", "num_experts_per_token"}));
  const auto* width = first(root, {"moe_intermediate_size"});
  experts.ffn = width ? as_width()(*width) : model.ffn;
  auto optional = [&](const char* key) {
    const auto* value = first(root, {key});
    return value ? config::as_integer(0, kMostTransformerWidth)(*value) : 0;
  };
  experts.shared = optional("n_shared_experts");
  if (const auto* shared = first(root, {"shared_expert_intermediate_size"})) {
    auto columns = optional("shared_expert_intermediate_size");
    if (columns % experts.ffn != 0)
      throw InputError(shared->span,
                       fmt::format("a shared expert of {} columns is not as wide as whole ones of {}",
                                   columns, experts.ffn),
                       "give the model's sizes as kind: transformer");
    experts.shared = columns / experts.ffn;
  }
  experts.dense_layers = optional("first_k_dense_replace");
  for (const char* key : {"decoder_sparse_step", "moe_layer_freq"})
    if (const auto* step = first(root, {key}); step && step->scalar != "1")
      throw InputError(step->span, "blocks with and without experts that alternate are not read",
                       "only the first blocks may be without: dense_layers of kind: transformer");
  if (const auto* dense = first(root, {"mlp_only_layers"}); dense && !dense->items.empty())
    throw InputError(dense->span, "single blocks without experts are not read",
                     "only the first blocks may be without: dense_layers of kind: transformer");
  if (type == "qwen2_moe") model.extra_parameters += model.layers * model.hidden;
  if (type == "qwen3_moe") model.extra_parameters += model.layers * 2 * model.head_dim;
  check_experts(experts, model.layers, count->span);
}

void check_readable(const Value& root) {
  for (const char* key : {"moe_num_experts", "ffn_config", "kv_lora_rank"})
    if (const auto* value = first(root, {key}); value && value->scalar != "0")
      throw InputError(value->span,
                       std::string_view(key) == "kv_lora_rank"
                           ? "latent attention (MLA) is a shape of attention that is not read"
                           : "a mixture of experts that is not read",
                       "give the model's sizes as kind: transformer, with experts, top_k and expert_ffn");
  if (const auto* value = first(root, {"is_encoder_decoder"}); value && config::as_bool(*value))
    throw InputError(value->span, "an encoder and a decoder are no stack of equal blocks",
                     "only one of either is modelled: give its sizes as kind: transformer");
  for (const char* shape : {"multi_query", "new_decoder_architecture", "num_kv_heads"})
    if (const auto* value = first(root, {shape}); value && value->scalar != "false")
      throw InputError(value->span, fmt::format("'{}' is a shape of attention that is not read", shape),
                       "give the model's sizes as kind: transformer (kv_heads: 1 is multi-query)");
}

bool is_true(const Value* value, bool otherwise) {
  return value ? config::as_bool(*value) : otherwise;
}

// MPT has a section of attention.
const Value* first_of_attention(const Value& root, const char* key) {
  const auto* attention = first(root, {"attn_config"});
  return attention && attention->kind == Value::Kind::map ? first(*attention, {key}) : nullptr;
}

void read_hugging_face_heads(const Value& root, Transformer& model) {
  const Value& heads = needed(root, {"num_attention_heads", "n_head", "n_heads"});
  model.heads = as_width()(heads);
  const auto* kv_heads = first(root, {"num_key_value_heads"});
  if (!kv_heads) kv_heads = first_of_attention(root, "kv_n_heads");
  model.kv_heads = kv_heads ? as_width()(*kv_heads) : model.heads;
  const auto* head_dim = first(root, {"head_dim"});
  if (!head_dim && model.hidden % model.heads != 0)
    throw InputError(heads.span,
                     fmt::format("{} values are not divided evenly by {} heads", model.hidden, model.heads),
                     "give its sizes as kind: transformer, with head_dim");
  model.head_dim = head_dim ? as_width()(*head_dim) : model.hidden / model.heads;
}

Biases hugging_face_biases(const Value& root, const std::string& type, bool is_gated) {
  const auto *bias = first(root, {"attention_bias", "use_bias"}), *no_bias = first(root, {"no_bias"});
  bool is_biased = bias      ? config::as_bool(*bias)
                   : no_bias ? !config::as_bool(*no_bias)
                             : is_one_of(type, kBiasedModels);
  // Qwen2 has them in attention, whatever its config.json says (transformers, modeling_qwen2.py).
  if (type == "qwen2" || type == "qwen2_moe") return Biases::qkv;
  if (!is_biased) return Biases::none;
  return is_gated ? Biases::qkv : Biases::all;
}

}  // namespace

const keys::Section& file_rows::transformer() {
  return transformer_keys::transformer_rows();
}

std::string write_transformer(const Transformer& model) {
  using namespace transformer_keys;
  auto rows = transformer_rows();
  // The last ones are those of a mixture.
  if (!model.has_experts()) rows.rows.resize(rows.rows.size() - 1 - kMixtureKeys.size());
  TransformerFile file{model, model.kv_heads, model.head_dim, model.ffn, model.experts.ffn, model.biases};
  return lines_of(rows, &file);
}

bool is_hugging_face_config(const Value& root) {
  return !root.find("kind") && first(root, {"hidden_size", "n_embd", "d_model"}) != nullptr;
}

Transformer read_transformer(const Value& root, const std::string& name) {
  using namespace transformer_keys;
  keys::Places places;
  auto file = read_root<TransformerFile>(transformer_rows(), root, places);
  auto& model = file.model;
  if (model.name.empty()) model.name = name;
  model.kv_heads = file.kv_heads.value_or(model.heads);
  if (!file.head_dim && model.hidden % model.heads != 0)
    throw InputError(places.at("heads"),
                     fmt::format("{} values are not divided evenly by {} heads", model.hidden, model.heads),
                     "give head_dim, the width of a head");
  model.head_dim = file.head_dim.value_or(model.hidden / model.heads);
  model.ffn = file.ffn.value_or(4 * model.hidden);
  model.biases = file.biases.value_or(model.gated ? Biases::none : Biases::all);
  if (model.has_experts()) {
    model.experts.ffn = file.expert_ffn.value_or(model.ffn);
    check_experts(model.experts, model.layers, places.at("experts"));
  }
  check_heads(model, root.span);
  return model;
}

Transformer read_hugging_face_config(const Value& root, const std::string& name) {
  check_readable(root);
  auto type = word_of(first(root, {"model_type"}), "");
  Transformer model;
  model.name = word_of(first(root, {"_name_or_path"}), name.c_str());
  if (model.name.empty()) model.name = name;
  model.hidden = as_width()(needed(root, {"hidden_size", "n_embd", "d_model"}));
  model.layers =
      config::as_integer(1, kMostBlocks)(needed(root, {"num_hidden_layers", "n_layer", "n_layers"}));
  read_hugging_face_heads(root, model);
  model.ffn = feed_forward_width(root, model.hidden);
  model.gated =
      is_one_of(word_of(first(root, {"hidden_act", "hidden_activation", "activation_function"}), "gelu"),
                kGatedActivations) ||
      is_one_of(type, kGatedModels);
  model.vocab = as_width()(needed(root, {"vocab_size"}));
  model.tied = is_true(first(root, {"tie_word_embeddings"}), true);
  // MPT's: ALiBi in place of learned positions, and no biases anywhere.
  if (is_one_of(type, kLearnedPositions) && !is_true(first_of_attention(root, "alibi"), false))
    if (const auto* positions = first(root, {"max_position_embeddings", "n_positions", "max_seq_len"}))
      model.positions = as_width()(*positions);
  model.biases = hugging_face_biases(root, type, model.gated);
  model.causal = type != "bert" && type != "roberta";
  read_hugging_face_experts(root, type, model);
  check_heads(model, root.span);
  return model;
}

std::optional<Note> hugging_face_note(const Value& root, const Transformer& model) {
  constexpr std::array kChecked{
      "gpt2",    "llama",     "mpt",       "qwen2",   "gemma",
      "mixtral", "qwen2_moe", "qwen3_moe", "deepseek"};  // transformer_file_test.cpp
  auto type = word_of(first(root, {"model_type"}), "");
  if (is_one_of(type, kChecked)) return std::nullopt;
  auto positions = model.positions > 0 ? fmt::format("{} learned positions", model.positions)
                                       : std::string("no learned positions");
  const char* biases = model.biases == Biases::none  ? "no biases"
                       : model.biases == Biases::qkv ? "biases of query, key and value only"
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
                          fmt::join(kChecked, ", "), model.layers, model.hidden, model.heads, model.head_dim,
                          model.kv_heads, model.ffn, model.gated ? "with" : "without", model.vocab,
                          model.tied ? "shared with the head" : "and a head of its own", positions, biases,
                          model.causal ? "causal" : "full", count)};
}

}  // namespace ddpsim
