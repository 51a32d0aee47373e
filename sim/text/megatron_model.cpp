#include "sim/text/megatron_model.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/base/limits.hpp"
#include "sim/base/quantity.hpp"

namespace ddpsim {
namespace {

using config::Value;

// Python's lists of 0 and 1 with + and *.
class LayerPattern {
 public:
  LayerPattern(const Located& text, std::size_t most) : text_(text), most_(most) {}

  std::vector<bool> read() {
    auto layers = sum(0);
    if (at_ != text_.text.size()) fail();
    return layers;
  }

 private:
  static constexpr int kDeepest = 32;

  [[noreturn]] void fail() const {
    throw InputError(text_.span, fmt::format("'{}' says not which layers have experts", text_.text),
                     "write 1, 2 or a list as Python has it: ([0]*3+[1]*58)");
  }
  void skip() {
    while (at_ < text_.text.size() && text_.text[at_] == ' ') ++at_;
  }
  bool take(char c) {
    skip();
    bool is_it = at_ < text_.text.size() && text_.text[at_] == c;
    if (is_it) ++at_;
    skip();
    return is_it;
  }
  std::size_t number() {
    skip();
    std::size_t value = 0, digits = 0;
    while (at_ < text_.text.size() && text_.text[at_] >= '0' && text_.text[at_] <= '9' && digits++ < 5)
      value = 10 * value + static_cast<std::size_t>(text_.text[at_++] - '0');
    if (digits == 0) fail();
    skip();
    return value;
  }

  std::vector<bool> sum(int depth) {
    auto layers = product(depth);
    while (take('+')) {
      auto more = product(depth);
      layers.insert(layers.end(), more.begin(), more.end());
      if (layers.size() > most_) fail();
    }
    return layers;
  }
  std::vector<bool> product(int depth) {
    auto once = list(depth);
    while (take('*')) {
      auto times = number();
      if (times * once.size() > most_) fail();
      std::vector<bool> all;
      for (std::size_t i = 0; i < times; ++i) all.insert(all.end(), once.begin(), once.end());
      once = std::move(all);
    }
    return once;
  }
  std::vector<bool> list(int depth) {
    if (depth > kDeepest) fail();
    std::vector<bool> layers;
    if (take('(')) {
      layers = sum(depth + 1);
      if (!take(')')) fail();
      return layers;
    }
    if (!take('[')) fail();
    do {
      layers.push_back(number() != 0);
      if (layers.size() > most_) fail();
    } while (take(','));
    if (!take(']')) fail();
    return layers;
  }

  const Located& text_;
  std::size_t most_, at_ = 0;
};

Value map_at(const SourceSpan& place) {
  Value map;
  map.kind = Value::Kind::map;
  map.span = place;
  return map;
}

class ModelFlags {
 public:
  ModelFlags(LaunchSettings& launch, const MegatronFlags& flags, const SourceSpan& place)
      : launch_(launch), flags_(flags), place_(place) {}

  void set() {
    hidden_ = required("--hidden-size");
    layers_ = required("--num-layers", kMostBlocks);
    heads_ = required("--num-attention-heads");
    put("kind", "transformer", place_);
    put("hidden", hidden_, "--hidden-size");
    put("layers", layers_, "--num-layers");
    put("heads", heads_, "--num-attention-heads");
    set_attention();
    set_feed_forward();
    set_embeddings();
    if (flags_.has("--num-experts")) set_experts();
  }

 private:
  std::int64_t required(const char* flag, std::int64_t most = kMostTransformerWidth) {
    auto number = flags_.number(flag, 1, most);
    if (!number)
      throw InputError(place_, fmt::format("nothing says {}, and so not which model it is", flag),
                       "add the flag, or name the model: --set workload.model=llama-3-8b");
    return *number;
  }
  std::optional<std::int64_t> width(const char* flag) {
    return flags_.number(flag, 1, kMostTransformerWidth);
  }

  void put(const char* key, std::string text, const SourceSpan& place) {
    launch_.set(fmt::format("workload.model.{}", key), std::move(text), place);
  }
  void put(const char* key, std::int64_t number, const char* flag) {
    put(key, std::to_string(number), flags_.has(flag) ? flags_.span(flag) : place_);
  }

  void set_attention() {
    if (flags_.has("--multi-latent-attention")) return set_latent_attention();
    if (flags_.has("--group-query-attention"))
      put("kv_heads", flags_.number("--num-query-groups", 1, kMostTransformerWidth).value_or(1),
          "--num-query-groups");
    if (auto head = width("--kv-channels")) put("head_dim", *head, "--kv-channels");
    if (flags_.has("--qk-layernorm")) put("head_norms", "true", flags_.span("--qk-layernorm"));
  }

  void set_latent_attention() {
    auto latent = map_at(flags_.span("--multi-latent-attention"));
    auto add = [&](const char* key, const char* flag, std::int64_t usual) {
      auto number = flags_.number(flag, 1, kMostTransformerWidth).value_or(usual);
      const auto& at = flags_.has(flag) ? flags_.span(flag) : latent.span;
      latent.entries.push_back({key, at, config::scalar_value(std::to_string(number), at)});
    };
    if (flags_.has("--q-lora-rank")) add("query_rank", "--q-lora-rank", 0);
    add("rank", "--kv-lora-rank", 32);
    add("nope", "--qk-head-dim", 128);
    add("rope", "--qk-pos-emb-head-dim", 64);
    add("value", "--v-head-dim", 128);
    launch_.set("workload.model.latent", std::move(latent));
    if (flags_.has("--qk-layernorm")) launch_.ignore("--qk-layernorm");
  }

  // arguments.py: with --swiglu two thirds of 4 x hidden, a multiple of 64; --quick-geglu's gate changes
  // none.
  void set_feed_forward() {
    const char* gate = flags_.has("--swiglu") ? "--swiglu" : "--quick-geglu";
    bool is_gated = flags_.has(gate);
    auto usual = flags_.has("--swiglu") ? (4 * hidden_ * 2 / 3) / 64 * 64 : 4 * hidden_;
    ffn_ = width("--ffn-hidden-size").value_or(std::max<std::int64_t>(usual, 1));
    put("ffn", ffn_, "--ffn-hidden-size");
    if (is_gated) put("gated", "true", flags_.span(gate));
    bool has_biases = !flags_.has("--disable-bias-linear");
    const char* bias = has_biases ? "true" : flags_.has("--add-qkv-bias") ? "qkv" : "false";
    put("bias", bias,
        has_biases ? place_
                   : flags_.span(flags_.has("--add-qkv-bias") ? "--add-qkv-bias" : "--disable-bias-linear"));
    set_norms(is_gated, has_biases);
  }

  // A model with a gate, or without biases, has norms without: LayerNorm's are of two a block and the last.
  void set_norms(bool is_gated, bool has_biases) {
    auto kind = flags_.word("--normalization").value_or("LayerNorm");
    if (kind != "LayerNorm" && kind != "RMSNorm")
      throw InputError(flags_.span("--normalization"), fmt::format("{} is not simulated", kind),
                       "write LayerNorm or RMSNorm");
    if (kind == "LayerNorm" && (is_gated || !has_biases))
      put("extra_parameters", (2 * layers_ + 1) * hidden_, "--normalization");
    if (kind == "RMSNorm" && !is_gated && has_biases) launch_.leave_out("--normalization RMSNorm");
  }

  // training/vocab_utils.py: a multiple of 128 x the tensor-parallel ranks.
  void set_embeddings() {
    put("tied", flags_.has("--untie-embeddings-and-output-weights") ? "false" : "true",
        flags_.has("--untie-embeddings-and-output-weights")
            ? flags_.span("--untie-embeddings-and-output-weights")
            : place_);
    set_vocabulary();
    auto kind = flags_.word("--position-embedding-type").value_or("learned_absolute");
    bool is_rotary = flags_.has("--use-rotary-position-embeddings") || flags_.has("--no-position-embedding");
    if (kind != "learned_absolute" || is_rotary) return;
    auto rows = width("--max-position-embeddings");
    if (!rows)
      throw InputError(place_, "nothing says --max-position-embeddings, of which positions are learned",
                       "add the flag, or --position-embedding-type rope");
    put("positions", *rows, "--max-position-embeddings");
  }

  void set_vocabulary() {
    if (launch_.is_typed("workload.model.vocab")) return;
    if (auto padded = width("--padded-vocab-size")) return put("vocab", *padded, "--padded-vocab-size");
    auto own = width("--vocab-size");
    // GPT2BPETokenizer's file has that many.
    if (!own && flags_.word("--tokenizer-type") == "GPT2BPETokenizer") own = 50257;
    if (!own && flags_.has("--vocab-file") && !flags_.has("--tokenizer-type")) own = 50257;
    if (!own)
      throw InputError(flags_.has("--tokenizer-type") ? flags_.span("--tokenizer-type") : place_,
                       "nothing says how many tokens the vocabulary has",
                       "add --vocab-size 128256, or --set workload.model.vocab=128256, with padding");
    auto multiple = flags_.number("--make-vocab-size-divisible-by", 1, kMostTransformerWidth).value_or(128) *
                    flags_.number("--tensor-model-parallel-size", 1, kLargestWorldSize).value_or(1);
    auto padded = (*own + multiple - 1) / multiple * multiple;
    put("vocab", padded, "--vocab-size");
  }

  void set_experts() {
    put("experts", *flags_.number("--num-experts", 1, kMostExperts), "--num-experts");
    put("top_k", flags_.number("--moe-router-topk", 1, kMostExperts).value_or(2), "--moe-router-topk");
    auto each = width("--moe-ffn-hidden-size").value_or(ffn_);
    put("expert_ffn", each, "--moe-ffn-hidden-size");
    if (auto shared = width("--moe-shared-expert-intermediate-size")) {
      if (*shared % each != 0)
        throw InputError(flags_.span("--moe-shared-expert-intermediate-size"),
                         fmt::format("{} is no multiple of an expert's {}", *shared, each),
                         "shared experts are simulated as wide as the others");
      put("shared_experts", *shared / each, "--moe-shared-expert-intermediate-size");
    }
    if (flags_.has("--moe-shared-expert-gate"))
      put("shared_gate", "true", flags_.span("--moe-shared-expert-gate"));
    if (!flags_.has("--disable-bias-linear")) put("expert_bias", "true", place_);
    if (auto pattern = flags_.word("--moe-layer-freq"); pattern && *pattern != "1")
      set_blocks(moe_layers({*pattern, flags_.span("--moe-layer-freq")}, layers_));
  }

  void set_blocks(const std::vector<bool>& has_experts) {
    const auto& place = flags_.span("--moe-layer-freq");
    Value blocks;
    blocks.kind = Value::Kind::sequence;
    blocks.span = place;
    for (std::size_t i = 0; i < has_experts.size();) {
      auto end = i;
      while (end < has_experts.size() && has_experts[end] == has_experts[i]) ++end;
      auto run = map_at(place);
      run.entries.push_back({"count", place, config::scalar_value(std::to_string(end - i), place)});
      run.entries.push_back(
          {"experts", place, config::scalar_value(has_experts[i] ? "true" : "false", place)});
      blocks.items.push_back(std::move(run));
      i = end;
    }
    launch_.set("workload.model.blocks", std::move(blocks));
  }

  LaunchSettings& launch_;
  const MegatronFlags& flags_;
  const SourceSpan& place_;
  std::int64_t hidden_ = 0, layers_ = 0, heads_ = 0, ffn_ = 0;
};

}  // namespace

std::vector<bool> moe_layers(const Located& text, std::int64_t layers) {
  auto count = static_cast<std::size_t>(layers);
  std::vector<bool> found;
  if (!text.text.empty() && text.text.find_first_not_of("0123456789") == std::string::npos) {
    auto every = parse_integer(text, 1, layers);
    for (std::int64_t i = 0; i < layers; ++i) found.push_back(i % every == 0);
  } else {
    found = LayerPattern(text, count).read();
  }
  if (found.size() != count)
    throw InputError(text.span, fmt::format("{} layers, and --num-layers is {}", found.size(), layers),
                     "the list has one number a layer");
  return found;
}

void set_megatron_model(LaunchSettings& launch, const MegatronFlags& flags, const SourceSpan& place) {
  const auto* own = launch.find("workload.model");
  if (own && own->kind == Value::Kind::scalar && own->span.is_typed()) {
    launch.note("launch-overridden", fmt::format("{}: its model gives way to the command line's, {}",
                                                 place.file->name, own->scalar));
    return;
  }
  launch.remove("workload.model");
  ModelFlags(launch, flags, place).set();
}

}  // namespace ddpsim
