#include "sim/model/transformer_modules.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/core.h>

#include "sim/base/module_names.hpp"
#include "sim/base/source.hpp"

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
    return {role, {tensor(name, count * inputs * outputs, count)}, inputs, outputs};
  }

  ParameterTensor vector(const std::string& name, std::int64_t elements) {
    return tensor(name, elements, elements);
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
  modules.push_back(
      registry.linear(ModuleRole::router, name + ".mlp.gate", model.hidden, experts.count, false));
  modules.push_back(registry.stacked(
      ModuleRole::experts_in, name + (model.gated ? ".mlp.experts.gate_up_proj" : ".mlp.experts.up_proj"),
      model.hidden, inner));
  modules.push_back(
      registry.stacked(ModuleRole::experts_out, name + ".mlp.experts.down_proj", experts.ffn, model.hidden));
  if (experts.shared == 0) return;
  auto width = experts.shared * experts.ffn;
  if (model.gated)
    modules.push_back(registry.linear(ModuleRole::feed_forward_in, name + ".mlp.shared_experts.gate_proj",
                                      model.hidden, width, false));
  modules.push_back(registry.linear(ModuleRole::feed_forward_in, name + ".mlp.shared_experts.up_proj",
                                    model.hidden, width, false));
  modules.push_back(registry.linear(ModuleRole::feed_forward_out, name + ".mlp.shared_experts.down_proj",
                                    width, model.hidden, false));
}

// A statement a module: the order of evaluation is the order of registration.
TransformerPart fused_block(Registry& registry, const Transformer& model, int index) {
  auto name = fmt::format("transformer.h.{}", index);
  auto query = model.query_width();
  bool has_bias = model.biases == Biases::all;
  TransformerPart part{Kind::block, index, {}};
  auto& modules = part.modules;
  modules.push_back(registry.norm(name + ".ln_1"));
  modules.push_back(registry.linear(ModuleRole::query_key_value, name + ".attn.c_attn", model.hidden,
                                    query + 2 * model.key_width(), model.biases != Biases::none));
  modules.push_back(
      registry.linear(ModuleRole::attention_output, name + ".attn.c_proj", query, model.hidden, has_bias));
  modules.push_back(registry.norm(name + ".ln_2"));
  if (model.kind_of(index) == BlockKind::experts) {
    add_experts(registry, model, name, modules);
    return part;
  }
  modules.push_back(
      registry.linear(ModuleRole::feed_forward_in, name + ".mlp.c_fc", model.hidden, model.ffn, has_bias));
  modules.push_back(
      registry.linear(ModuleRole::feed_forward_out, name + ".mlp.c_proj", model.ffn, model.hidden, has_bias));
  return part;
}

TransformerPart gated_block(Registry& registry, const Transformer& model, int index) {
  auto name = fmt::format("model.layers.{}", index);
  auto query = model.query_width(), key = model.key_width();
  bool has_bias = model.biases == Biases::all, qkv_bias = model.biases != Biases::none;
  auto qkv = [&](const char* matrix, std::int64_t outputs) {
    return registry.linear(ModuleRole::query_key_value, fmt::format("{}.self_attn.{}", name, matrix),
                           model.hidden, outputs, qkv_bias);
  };
  auto feed_forward = [&](const char* matrix) {
    return registry.linear(ModuleRole::feed_forward_in, fmt::format("{}.mlp.{}", name, matrix), model.hidden,
                           model.ffn, has_bias);
  };
  auto q = qkv("q_proj", query), k = qkv("k_proj", key), v = qkv("v_proj", key);
  auto o = registry.linear(ModuleRole::attention_output, name + ".self_attn.o_proj", query, model.hidden,
                           has_bias);
  std::vector<TransformerModule> last;
  if (model.kind_of(index) == BlockKind::experts) {
    add_experts(registry, model, name, last);
  } else {
    last.push_back(feed_forward("gate_proj"));
    last.push_back(feed_forward("up_proj"));
    last.push_back(registry.linear(ModuleRole::feed_forward_out, name + ".mlp.down_proj", model.ffn,
                                   model.hidden, has_bias));
  }
  auto before = registry.norm(name + ".input_layernorm");
  auto between = registry.norm(name + ".post_attention_layernorm");
  TransformerPart part{
      Kind::block,
      index,
      {std::move(before), std::move(q), std::move(k), std::move(v), std::move(o), std::move(between)}};
  std::move(last.begin(), last.end(), std::back_inserter(part.modules));
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

void freeze(std::vector<TransformerPart>& parts, const std::vector<std::string>& names) {
  std::vector<bool> is_known(names.size());
  bool trains = false;
  for (auto& part : parts)
    for (auto& module : part.modules)
      for (auto& tensor : module.tensors) {
        tensor.is_frozen = !named_module_of(tensor.name, names, is_known).empty();
        trains |= !tensor.is_frozen;
      }
  if (auto unknown = std::ranges::find(is_known, false); unknown != is_known.end())
    throw InputError(fmt::format("no module is called '{}', or all of it is in modules named here",
                                 names[static_cast<std::size_t>(unknown - is_known.begin())]),
                     fmt::format("a module is what parameters' names say, like '{}' or 'layers.*.mlp'",
                                 parts[1].modules.front().tensors.front().name))
        .about("frozen");
  if (!trains) throw InputError("all of the model is frozen", "leave something to train").about("frozen");
}

std::shared_ptr<const std::vector<TransformerPart>> KnownParts::of(const Transformer& model,
                                                                   std::int64_t sequence,
                                                                   const std::vector<std::string>& frozen) {
  auto rows = model.position_rows(sequence);
  std::scoped_lock lock(mutex_);
  for (const auto& known : known_)
    if (known.rows == rows && known.frozen == frozen && known.model == model) return known.parts;
  constexpr std::size_t kMostKnown = 16;
  if (known_.size() == kMostKnown) known_.erase(known_.begin());
  auto parts = std::make_shared<std::vector<TransformerPart>>(transformer_parts(model, sequence));
  if (!frozen.empty()) freeze(*parts, frozen);
  known_.push_back({model, rows, frozen, std::move(parts)});
  return known_.back().parts;
}

std::vector<ParameterTensor> registration_order(const std::vector<TransformerPart>& parts) {
  auto tensors = arrival_order(parts);
  std::sort(tensors.begin(), tensors.end(),
            [](const auto& a, const auto& b) { return a.parameter < b.parameter; });
  return tensors;
}

std::vector<ParameterTensor> arrival_order(const std::vector<TransformerPart>& parts) {
  std::vector<ParameterTensor> tensors;
  for (auto part = parts.rbegin(); part != parts.rend(); ++part)
    for (auto module = part->modules.rbegin(); module != part->modules.rend(); ++module)
      tensors.insert(tensors.end(), module->tensors.begin(), module->tensors.end());
  return tensors;
}

}  // namespace ddpsim
