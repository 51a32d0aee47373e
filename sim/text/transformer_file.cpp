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
  std::optional<std::int64_t> window = {};
  std::optional<LatentAttention> latent = {};
  std::optional<LinearAttention> linear = {};
  struct Run {
    std::int64_t count = 1;
    std::optional<AttentionKind> attention = {};
    std::optional<bool> has_experts = {};
  };
  std::vector<Run> blocks = {};
};

constexpr std::array kMixtureKeys{"top_k",       "expert_ffn",  "shared_experts",
                                  "expert_bias", "router_bias", "shared_gate"};

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

Type<LatentAttention> latent_rows() {
  using L = LatentAttention;
  auto width = whole<std::int64_t>(1, kMostTransformerWidth);
  return nested(Rows<L>("latent")
                    .key<&L::query_rank>("query_rank", whole<std::int64_t>(0, kMostTransformerWidth),
                                         "Of what queries are made of; 0: of the hidden values")
                    .needs<&L::rank>("rank", width, "Of what keys and values are made of")
                    .needs<&L::nope>("nope", width, "Of a head's query and key, without a position")
                    .needs<&L::rope>("rope", width, "With one")
                    .needs<&L::value>("value", width, "Of a head's value"));
}

Type<LinearAttention> linear_rows() {
  using L = LinearAttention;
  auto width = whole<std::int64_t>(1, kMostTransformerWidth);
  return nested(Rows<L>("linear")
                    .needs<&L::key_heads>("key_heads", width, "Of queries and keys")
                    .needs<&L::value_heads>("value_heads", width, "Of values")
                    .needs<&L::key_dim>("key_dim", width, "Width of such a head")
                    .needs<&L::value_dim>("value_dim", width, "Of a value's")
                    .needs<&L::conv>("conv", width, "Tokens of the convolution before it"));
}

Type<std::vector<TransformerFile::Run>> block_rows() {
  using R = TransformerFile::Run;
  return list(nested(Rows<R>("blocks")
                         .key<&R::count>("count", whole<std::int64_t>(1, kMostBlocks), "One after the other")
                         .key<&R::attention>("attention", maybe(word(kAttentionKindNames)), "How they attend")
                         .key<&R::has_experts>("experts", maybe(boolean()), "Whether they have experts")));
}

const Section& transformer_rows() {
  using F = TransformerFile;
  using T = Transformer;
  constexpr auto model = &F::model;
  constexpr auto experts = &T::experts;
  auto width = whole<std::int64_t>(1, kMostTransformerWidth),
       some = whole<std::int64_t>(0, kMostTransformerWidth);
  auto blocks = whole<std::int64_t>(1, kMostBlocks), count = whole<std::int64_t>(1, kMostExperts);
  auto biases = word(config::Words<Biases>{{"true", Biases::all},
                                           {"false", Biases::none},
                                           {"qkv", Biases::qkv},
                                           {"attention", Biases::attention},
                                           {"feed_forward", Biases::feed_forward}});
  auto head_norms = word(config::Words<HeadNorms>{
      {"false", HeadNorms::none}, {"true", HeadNorms::each}, {"all", HeadNorms::all}});
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
          .key<&F::window>("window", maybe(width), "Tokens that attention of that kind looks back")
          .key<&F::latent>("latent", maybe(latent_rows()), "Latent attention (MLA)")
          .key<&F::linear>("linear", maybe(linear_rows()), "Linear attention (gated delta rule)")
          .key<model, &T::head_norms>("head_norms", head_norms,
                                      "Of queries and keys, a head's width each; all: of all heads' width")
          .key<model, &T::norms>("norms", word(kBlockNormsNames),
                                 "Of a block: before attention and feed-forward layer, after, both; one "
                                 "before both")
          .key<model, &T::norm_bias>("norm_bias", boolean(), "Of norms, whatever linear layers have")
          .key<model, &T::rotary>("rotary", boolean(), "Rotary embeddings, without a gate, too")
          .key<model, &T::query_gate>("query_gate", boolean(), "The query's matrix makes a gate, too")
          .key<model, &T::sinks>("sinks", boolean(), "A learned number a head beside the scores")
          .key<&F::blocks>("blocks", block_rows(), "Kinds of blocks, in order")
          .key<model, experts, &Experts::count>("experts", count, "Of a block")
          .key<model, experts, &Experts::top_k>("top_k", count, "That a token goes to")
          .key<&F::expert_ffn>("expert_ffn", maybe(width), "Width of each")
          .key<model, experts, &Experts::shared>("shared_experts", some, "On top, that every token goes to")
          .key<model, experts, &Experts::has_bias>("expert_bias", boolean(), "Of each one's matrices")
          .key<model, experts, &Experts::router_bias>("router_bias", boolean(), "One number an expert")
          .key<model, experts, &Experts::shared_gate>("shared_gate", boolean(), "Weighs shared experts")
          .check(check_mixture);
  return section;
}

}  // namespace
}  // namespace ddpsim::transformer_keys

namespace ddpsim {
namespace {

using config::Value;

// Whole numbers of that size would overflow.
double parameters_as_double(const Transformer& model) {
  auto of = [](std::int64_t number) { return static_cast<double>(number); };
  const auto& latent = model.latent;
  const auto& linear = model.linear;
  double attention =
      of(model.heads) * (of(model.head_dim) + of(latent.nope) + of(latent.rope) + of(latent.value)) +
      of(linear.key_heads) * of(linear.key_dim) + of(linear.value_heads) * of(linear.value_dim) +
      of(linear.conv) *
          (of(linear.key_heads) * of(linear.key_dim) + of(linear.value_heads) * of(linear.value_dim)) +
      of(latent.rank) + of(latent.query_rank);
  const auto& experts = model.experts;
  double width = std::max(of(model.ffn), (of(experts.count) + of(experts.shared)) * of(experts.ffn));
  double block =
      of(model.hidden) * (4 * attention + of(experts.count) + of(model.feed_forward_matrices()) * width);
  return of(model.layers) * block + 2 * of(model.vocab) * of(model.hidden) + of(model.extra_parameters);
}

}  // namespace

void check_sizes(const Transformer& model, const SourceSpan& span) {
  if (model.heads % model.kv_heads != 0)
    throw InputError(span,
                     fmt::format("{} heads cannot share {} of keys evenly", model.heads, model.kv_heads),
                     "kv_heads divides heads");
  if (8 * parameters_as_double(model) > kLargestByteCount.value())
    throw InputError(span, "the model's parameters are more than 8 PiB as float64", "check the sizes");
}

void check_experts(const Transformer& model, const SourceSpan& span) {
  const auto& experts = model.experts;
  if (experts.top_k > experts.count)
    throw InputError(
        span, fmt::format("a token goes to {} experts, and there are {}", experts.top_k, experts.count),
        "top_k is the number of experts at most");
  if (model.blocks_with_experts() == 0)
    throw InputError(span, fmt::format("none of {} blocks has experts", model.layers),
                     "leave experts out, or say which blocks have them");
}

namespace {

using transformer_keys::TransformerFile;

bool has_blocks(const Transformer& model, AttentionKind attention) {
  return std::ranges::any_of(model.kinds(), [&](const auto& run) { return run.kind.attention == attention; });
}

// Of what no block has nothing is said.
void check_used(const TransformerFile& file, const keys::Places& places, const Transformer& model) {
  auto needs = [&](const char* key, bool is_given, bool is_used) {
    if (is_given && !is_used)
      throw InputError(places.at(key), fmt::format("no block has what '{}' is about", key),
                       "remove it, or say in blocks which have it");
  };
  needs("window", file.window.has_value(), has_blocks(model, AttentionKind::window));
  needs("latent", file.latent.has_value(), has_blocks(model, AttentionKind::latent));
  needs("linear", file.linear.has_value(), has_blocks(model, AttentionKind::linear));
  bool has_heads = has_blocks(model, AttentionKind::full) || has_blocks(model, AttentionKind::window);
  needs("kv_heads", file.kv_heads && *file.kv_heads != model.heads, has_heads);
  needs("head_norms", model.head_norms != HeadNorms::none, has_heads);
  needs("query_gate", model.query_gate, has_heads);
  needs("sinks", model.sinks, has_heads);
  needs("shared_gate", model.experts.shared_gate, model.experts.shared > 0);
}

// What a run does not say is what all blocks would be.
void take_blocks(const TransformerFile& file, const keys::Places& places, Transformer& model) {
  model.window = file.window.value_or(0);
  model.latent = file.latent.value_or(LatentAttention());
  model.linear = file.linear.value_or(LinearAttention());
  if (file.linear && file.blocks.empty())
    throw InputError(places.at("linear"), "nothing says which blocks have linear attention",
                     "add blocks: [{count: 3, attention: linear}, {count: 1}, ...]");
  auto usual = model.usual_kind();
  std::int64_t count = 0;
  for (const auto& run : file.blocks) {
    BlockKind kind{run.attention.value_or(usual.attention), run.has_experts.value_or(usual.has_experts)};
    auto lacks = [&](AttentionKind attention, bool has, const char* key) {
      if (kind.attention == attention && !has)
        throw InputError(places.at("blocks"),
                         fmt::format("a block of attention '{}' in a model without '{}'",
                                     name_in(kAttentionKindNames, attention), key),
                         fmt::format("add '{}'", key));
    };
    lacks(AttentionKind::window, file.window.has_value(), "window");
    lacks(AttentionKind::latent, file.latent.has_value(), "latent");
    lacks(AttentionKind::linear, file.linear.has_value(), "linear");
    if (kind.has_experts && !model.has_experts())
      throw InputError(places.at("blocks"), "a block with experts in a model without",
                       "add experts, their number in a block");
    if (!model.blocks.empty() && model.blocks.back().kind == kind)
      model.blocks.back().count += run.count;
    else
      model.blocks.push_back({kind, run.count});
    count += run.count;
  }
  if (!file.blocks.empty() && count != model.layers)
    throw InputError(places.at("blocks"), fmt::format("{} blocks, and layers is {}", count, model.layers),
                     "counts add up to layers");
  if (model.blocks.size() == 1 && model.blocks.front().kind == usual) model.blocks.clear();
  check_used(file, places, model);
}

TransformerFile file_of(const Transformer& model) {
  TransformerFile file{model, model.kv_heads, model.head_dim, model.ffn, model.experts.ffn, model.biases};
  if (model.window > 0) file.window = model.window;
  if (model.latent.rank > 0) file.latent = model.latent;
  if (model.linear.key_heads > 0) file.linear = model.linear;
  for (const auto& run : model.blocks)
    file.blocks.push_back({run.count, run.kind.attention, run.kind.has_experts});
  return file;
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
  auto file = file_of(model);
  return lines_of(rows, &file);
}

Transformer read_transformer(const Value& root, const std::string& name) {
  using namespace transformer_keys;
  keys::Places places;
  if (const auto* gone = root.find("dense_layers"))
    throw InputError(gone->key_span, "unknown key 'dense_layers'",
                     "write blocks: [{count: 3, experts: false}, {count: 58}]");
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
  take_blocks(file, places, model);
  if (model.has_experts()) {
    model.experts.ffn = file.expert_ffn.value_or(model.ffn);
    check_experts(model, places.at("experts"));
  }
  check_sizes(model, root.span);
  return model;
}

}  // namespace ddpsim
