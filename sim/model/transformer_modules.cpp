#include "sim/model/transformer_modules.hpp"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <utility>

#include <fmt/core.h>

namespace ddpsim {
namespace {

using Kind = TransformerPart::Kind;

// Numbers the tensors in the order in which they are made.
class Registry {
 public:
  explicit Registry(const Transformer& model) : model_(model) {}

  TransformerModule embedding(ModuleRole role, const std::string& name, std::int64_t rows,
                              std::int64_t width) {
    return {role, {tensor(name + ".weight", rows * width, rows)}, width, rows};
  }

  TransformerModule norm(const std::string& name) {
    TransformerModule module{ModuleRole::norm, {vector(name + ".weight", model_.hidden)}};
    if (model_.norms_have_bias()) module.tensors.push_back(vector(name + ".bias", model_.hidden));
    return module;
  }

  TransformerModule linear(ModuleRole role, const std::string& name, std::int64_t inputs,
                           std::int64_t outputs, bool has_bias) {
    // nn.Linear keeps outputs x inputs, GPT-2's Conv1D inputs x outputs.
    auto weight = tensor(name + ".weight", inputs * outputs, model_.gated ? outputs : inputs);
    TransformerModule module{role, {std::move(weight)}, inputs, outputs};
    if (has_bias) module.tensors.insert(module.tensors.begin(), vector(name + ".bias", outputs));
    return module;
  }

  // Of all experts.
  TransformerModule stacked(ModuleRole role, const std::string& name, std::int64_t inputs,
                            std::int64_t outputs) {
    auto count = model_.experts.count;
    TransformerModule module{role, {tensor(name, count * inputs * outputs, count)}, inputs, outputs};
    if (model_.experts.has_bias)
      module.tensors.insert(module.tensors.begin(), tensor(name + "_bias", count * outputs, count));
    return module;
  }

  ParameterTensor vector(const std::string& name, std::int64_t elements) {
    return tensor(name, elements, elements);
  }

  TransformerModule of_attention(const std::string& name, std::int64_t elements) {
    return {ModuleRole::attention_vector, {vector(name, elements)}, 1, elements};
  }

 private:
  ParameterTensor tensor(const std::string& name, std::int64_t elements, std::int64_t rows) {
    return {name, elements, n_tensors_++, rows};
  }

  const Transformer& model_;
  std::size_t n_tensors_ = 0;
};

// In place of a block's feed-forward layer: the router, the experts, and those that all tokens go to.
void add_experts(Registry& registry, const Transformer& model, const std::string& name,
                 std::vector<TransformerModule>& modules) {
  const auto& experts = model.experts;
  auto inner = (model.feed_forward_matrices() - 1) * experts.ffn;
  auto linear = [&](ModuleRole role, const char* what, std::int64_t inputs, std::int64_t outputs,
                    bool has_bias = false) {
    return registry.linear(role, name + what, inputs, outputs, has_bias);
  };
  auto router = linear(ModuleRole::router, ".mlp.gate", model.hidden, experts.count, experts.router_bias);
  auto in = registry.stacked(ModuleRole::experts_in,
                             name + (model.gated ? ".mlp.experts.gate_up_proj" : ".mlp.experts.up_proj"),
                             model.hidden, inner);
  auto out =
      registry.stacked(ModuleRole::experts_out, name + ".mlp.experts.down_proj", experts.ffn, model.hidden);
  std::vector<TransformerModule> before, after;
  if (auto width = model.shared_width(); width > 0) {
    if (model.gated)
      before.push_back(
          linear(ModuleRole::feed_forward_in, ".mlp.shared_experts.gate_proj", model.hidden, width));
    before.push_back(linear(ModuleRole::feed_forward_in, ".mlp.shared_experts.up_proj", model.hidden, width));
    after.push_back(
        linear(ModuleRole::feed_forward_out, ".mlp.shared_experts.down_proj", width, model.hidden));
    if (experts.shared_gate)
      modules.push_back(linear(ModuleRole::router, ".mlp.shared_expert_gate", model.hidden, 1));
  }
  // In forward order all that widens comes before all that narrows, as their gradients do the other way
  // round.
  modules.push_back(std::move(router));
  std::ranges::move(before, std::back_inserter(modules));
  modules.push_back(std::move(in));
  modules.push_back(std::move(out));
  std::ranges::move(after, std::back_inserter(modules));
}

// Registered as query, key and value are, of what a latent attention has in their place; in forward order
// all that goes down comes before what goes up.
void add_latent_attention(Registry& registry, const Transformer& model, const std::string& name,
                          std::vector<TransformerModule>& modules) {
  const auto& latent = model.latent;
  auto of = model.widths(AttentionKind::latent);
  std::vector<TransformerModule> down, up;
  auto matrix = [&](ModuleRole role, const char* what, std::int64_t inputs, std::int64_t outputs) {
    return registry.linear(role, name + what, inputs, outputs, false);
  };
  if (latent.query_rank > 0) {
    down.push_back(matrix(ModuleRole::attention_down, ".q_a_proj", model.hidden, latent.query_rank));
    down.push_back(registry.of_attention(name + ".q_a_layernorm.weight", latent.query_rank));
    up.push_back(matrix(ModuleRole::query_key_value, ".q_b_proj", latent.query_rank, of.query));
  } else {
    up.push_back(matrix(ModuleRole::query_key_value, ".q_proj", model.hidden, of.query));
  }
  down.push_back(
      matrix(ModuleRole::attention_down, ".kv_a_proj_with_mqa", model.hidden, latent.rank + latent.rope));
  down.push_back(registry.of_attention(name + ".kv_a_layernorm.weight", latent.rank));
  up.push_back(matrix(ModuleRole::query_key_value, ".kv_b_proj", latent.rank,
                      model.heads * (latent.nope + latent.value)));
  for (auto* some : {&down, &up}) std::ranges::move(*some, std::back_inserter(modules));
  modules.push_back(matrix(ModuleRole::attention_output, ".o_proj", of.output, model.hidden));
}

void add_linear_attention(Registry& registry, const Transformer& model, const std::string& name,
                          std::vector<TransformerModule>& modules) {
  const auto& linear = model.linear;
  auto of = model.widths(AttentionKind::linear);
  auto matrix = [&](ModuleRole role, const char* what, std::int64_t inputs, std::int64_t outputs) {
    return registry.linear(role, name + what, inputs, outputs, false);
  };
  std::vector<TransformerModule> vectors;
  vectors.push_back(registry.of_attention(name + ".dt_bias", linear.value_heads));
  vectors.push_back(registry.of_attention(name + ".A_log", linear.value_heads));
  vectors.push_back(registry.of_attention(name + ".conv1d.weight", linear.conv * (2 * of.key + of.value)));
  modules.push_back(
      matrix(ModuleRole::query_key_value, ".in_proj_qkvz", model.hidden, 2 * of.key + 2 * of.value));
  modules.push_back(matrix(ModuleRole::query_key_value, ".in_proj_ba", model.hidden, 2 * linear.value_heads));
  std::ranges::move(vectors, std::back_inserter(modules));
  modules.push_back(registry.of_attention(name + ".norm.weight", linear.value_dim));
  modules.push_back(matrix(ModuleRole::attention_output, ".out_proj", of.output, model.hidden));
}

void add_attention(Registry& registry, const Transformer& model, const std::string& name,
                   std::vector<TransformerModule>& modules) {
  auto qkv = [&](const char* matrix, std::int64_t outputs) {
    modules.push_back(registry.linear(ModuleRole::query_key_value, name + matrix, model.hidden, outputs,
                                      model.queries_have_bias()));
  };
  qkv(".q_proj", model.query_width() * (model.query_gate ? 2 : 1));
  qkv(".k_proj", model.key_width());
  qkv(".v_proj", model.key_width());
  auto output = registry.linear(ModuleRole::attention_output, name + ".o_proj", model.query_width(),
                                model.hidden, model.attention_output_has_bias());
  if (model.head_norms != HeadNorms::none) {
    bool is_each = model.head_norms == HeadNorms::each;
    modules.push_back(
        registry.of_attention(name + ".q_norm.weight", is_each ? model.head_dim : model.query_width()));
    modules.push_back(
        registry.of_attention(name + ".k_norm.weight", is_each ? model.head_dim : model.key_width()));
  }
  if (model.sinks) modules.push_back(registry.of_attention(name + ".sinks", model.heads));
  modules.push_back(std::move(output));
}

void add_attention_of(Registry& registry, const Transformer& model, AttentionKind kind,
                      const std::string& name, std::vector<TransformerModule>& modules) {
  if (kind == AttentionKind::latent) return add_latent_attention(registry, model, name, modules);
  if (kind == AttentionKind::linear) return add_linear_attention(registry, model, name, modules);
  add_attention(registry, model, name, modules);
}

void add_fused_attention(Registry& registry, const Transformer& model, AttentionKind kind,
                         const std::string& name, std::vector<TransformerModule>& modules) {
  bool is_fused = kind == AttentionKind::full || kind == AttentionKind::window;
  if (!is_fused || model.head_norms != HeadNorms::none || model.query_gate || model.sinks)
    return add_attention_of(registry, model, kind, name, modules);
  auto query = model.query_width();
  modules.push_back(registry.linear(ModuleRole::query_key_value, name + ".c_attn", model.hidden,
                                    query + 2 * model.key_width(), model.queries_have_bias()));
  modules.push_back(registry.linear(ModuleRole::attention_output, name + ".c_proj", query, model.hidden,
                                    model.attention_output_has_bias()));
}

// A statement a module: the order of evaluation is the order of registration.
TransformerPart fused_block(Registry& registry, const Transformer& model, int index) {
  auto name = fmt::format("transformer.h.{}", index);
  TransformerPart part{Kind::block, index, {}};
  auto& modules = part.modules;
  auto norm = [&](const char* what, std::initializer_list<BlockNorms> of) {
    if (std::ranges::count(of, model.norms)) modules.push_back(registry.norm(name + what));
  };
  norm(".ln_1", {BlockNorms::before, BlockNorms::both, BlockNorms::one});
  auto kind = model.kind_of(index);
  add_fused_attention(registry, model, kind.attention, name + ".attn", modules);
  norm(".ln_1_post", {BlockNorms::after, BlockNorms::both});
  norm(".ln_2", {BlockNorms::before, BlockNorms::both});
  if (kind.has_experts) {
    add_experts(registry, model, name, modules);
  } else {
    bool has_bias = model.feed_forward_has_bias();
    modules.push_back(
        registry.linear(ModuleRole::feed_forward_in, name + ".mlp.c_fc", model.hidden, model.ffn, has_bias));
    modules.push_back(registry.linear(ModuleRole::feed_forward_out, name + ".mlp.c_proj", model.ffn,
                                      model.hidden, has_bias));
  }
  norm(".ln_2_post", {BlockNorms::after, BlockNorms::both});
  return part;
}

void add_gated_feed_forward(Registry& registry, const Transformer& model, const std::string& name,
                            std::vector<TransformerModule>& modules) {
  bool has_bias = model.feed_forward_has_bias();
  for (const char* matrix : {".mlp.gate_proj", ".mlp.up_proj"})
    modules.push_back(
        registry.linear(ModuleRole::feed_forward_in, name + matrix, model.hidden, model.ffn, has_bias));
  modules.push_back(registry.linear(ModuleRole::feed_forward_out, name + ".mlp.down_proj", model.ffn,
                                    model.hidden, has_bias));
}

// In the order of registration, by where they are: before attention, after it, before the feed-forward layer,
// after it (transformers, modeling_llama.py, modeling_gemma2.py, modeling_olmo2.py; where there are two, the
// one that follows attention and precedes the feed-forward layer has the name of the former).
struct BlockNormNames {
  const char *before_attention = nullptr, *after_attention = nullptr, *before_feed_forward = nullptr,
             *after_feed_forward = nullptr;
};
BlockNormNames block_norm_names(BlockNorms norms) {
  constexpr const char *input = ".input_layernorm", *middle = ".post_attention_layernorm",
                       *inner = ".pre_feedforward_layernorm", *last = ".post_feedforward_layernorm";
  switch (norms) {
    case BlockNorms::before:
      return {input, nullptr, middle, nullptr};
    case BlockNorms::after:
      return {nullptr, middle, nullptr, last};
    case BlockNorms::both:
      return {input, middle, inner, last};
    case BlockNorms::one:
      break;
  }
  return {input, nullptr, nullptr, nullptr};
}

TransformerPart gated_block(Registry& registry, const Transformer& model, int index) {
  auto name = fmt::format("model.layers.{}", index);
  auto kind = model.kind_of(index);
  std::vector<TransformerModule> attention, feed_forward;
  add_attention_of(registry, model, kind.attention,
                   name + (kind.attention == AttentionKind::linear ? ".linear_attn" : ".self_attn"),
                   attention);
  if (kind.has_experts)
    add_experts(registry, model, name, feed_forward);
  else
    add_gated_feed_forward(registry, model, name, feed_forward);
  TransformerPart part{Kind::block, index, {}};
  auto names = block_norm_names(model.norms);
  auto norm = [&](const char* what) {
    std::vector<TransformerModule> one;
    if (what) one.push_back(registry.norm(name + what));
    return one;
  };
  auto before = norm(names.before_attention), after = norm(names.after_attention),
       inner = norm(names.before_feed_forward), last = norm(names.after_feed_forward);
  for (auto* some : {&before, &attention, &after, &inner, &feed_forward, &last})
    std::ranges::move(*some, std::back_inserter(part.modules));
  return part;
}

}  // namespace

std::int64_t TransformerModule::elements() const {
  std::int64_t total = 0;
  for (const auto& tensor : tensors) total += tensor.elements;
  return total;
}

std::int64_t TransformerPart::elements() const {
  std::int64_t total = 0;
  for (const auto& module : modules) total += module.elements();
  return total;
}

std::vector<TransformerPart> transformer_parts(const Transformer& model, std::int64_t sequence) {
  Registry registry(model);
  std::vector<TransformerPart> parts{{Kind::embedding, 0, {}}};
  auto& embeddings = parts.front().modules;
  embeddings.push_back(registry.embedding(ModuleRole::token_embedding,
                                          model.gated ? "model.embed_tokens" : "transformer.wte", model.vocab,
                                          model.hidden));
  if (auto rows = model.position_rows(sequence); rows > 0)
    embeddings.push_back(registry.embedding(ModuleRole::position_embedding,
                                            model.gated ? "model.embed_positions" : "transformer.wpe", rows,
                                            model.hidden));
  for (int block = 0; block < model.layers; ++block)
    parts.push_back(model.gated ? gated_block(registry, model, block) : fused_block(registry, model, block));
  TransformerPart head{Kind::head, 0, {registry.norm(model.gated ? "model.norm" : "transformer.ln_f")}};
  if (model.tied)
    head.modules.push_back({ModuleRole::head, {}, model.hidden, model.vocab});
  else
    head.modules.push_back(registry.embedding(ModuleRole::head, "lm_head", model.vocab, model.hidden));
  if (model.extra_parameters > 0)
    head.modules.push_back({ModuleRole::extra, {registry.vector("extra.weight", model.extra_parameters)}});
  parts.push_back(std::move(head));
  return parts;
}

}  // namespace ddpsim
