#include "sim/compute/transformer_layers.hpp"

namespace ddpsim {
namespace {

// "transformer.h.0.attn" of "transformer.h.0.attn.c_attn".
std::string parent(const std::string& name) {
  return name.substr(0, name.rfind('.'));
}

std::string name_of(const TransformerModule& module) {
  return module.tensors.empty() ? "lm_head" : parent(module.tensors[0].name);
}

class LayerBuilder {
 public:
  explicit LayerBuilder(const Transformer& transformer)
      : transformer_(transformer), width_(static_cast<double>(transformer.hidden)) {
    model_.name = transformer.name;
  }

  void add(const TransformerPart& part) {
    const auto& modules = part.modules;
    for (std::size_t i = 0; i < modules.size(); ++i) {
      add(modules[i]);
      // What follows several matrices of one input follows the last of them.
      bool more = i + 1 < modules.size() && modules[i + 1].role == modules[i].role;
      // Of experts and shared ones there is one sum.
      bool is_shared = modules[i].role == ModuleRole::feed_forward_out && part_has_experts(part);
      if (is_shared) continue;
      if (!more) add_after(modules[i]);
    }
    if (part.kind == TransformerPart::Kind::embedding && has_dropout()) {
      // Dropout, and the sum of both embeddings.
      bool has_positions = modules.size() > 1;
      elementwise("transformer.drop", (has_positions ? 5 : 2) * width_, has_positions ? 2 : 1);
    }
  }

  [[nodiscard]] Model take() { return std::move(model_); }

 private:
  // Adding the lookup's gradient to the head's reads both and writes one.
  static constexpr double kSumWithTheHeads = 3;

  [[nodiscard]] bool has_dropout() const { return !transformer_.gated; }

  void add(const TransformerModule& module) {
    auto name = name_of(module);
    switch (module.role) {
      case ModuleRole::token_embedding:
        return lookup(name, module.tensors, transformer_.tied ? kSumWithTheHeads : 0);
      case ModuleRole::position_embedding:
        return lookup(name, module.tensors, 0);
      case ModuleRole::norm:
        return add(name, {.values_per_token = 2 * width_}, module.tensors);
      case ModuleRole::extra:
        return add(name, {.kernels = 0}, module.tensors);
      case ModuleRole::query_key_value:
      case ModuleRole::attention_output:
      case ModuleRole::feed_forward_in:
      case ModuleRole::feed_forward_out:
      case ModuleRole::router:
      case ModuleRole::head:
        return matrix(name, module);
      case ModuleRole::experts_in:
      case ModuleRole::experts_out:
        return experts(name, module);
    }
  }

  void add_after(const TransformerModule& module) {
    auto group = parent(name_of(module));
    auto outputs = static_cast<double>(module.outputs);
    switch (module.role) {
      case ModuleRole::query_key_value:
        return attention(group);
      case ModuleRole::attention_output:
      case ModuleRole::feed_forward_out:
        // The sum 3, dropout 2.
        return elementwise(group + ".residual", (has_dropout() ? 5 : 3) * width_, has_dropout() ? 2 : 1);
      case ModuleRole::experts_in: {
        // As of one layer of those experts' width that a token goes to; both matrices in one.
        double width = static_cast<double>(transformer_.experts.top_k * transformer_.experts.ffn);
        return transformer_.gated ? elementwise(group + ".silu", 5 * width, 2)
                                  : elementwise(group + ".gelu", 2 * width, 1);
      }
      case ModuleRole::router:
        // Tokens are read and written for each of their experts.
        return elementwise(group + ".permute", 2 * copies() * width_, 1);
      case ModuleRole::experts_out:
        elementwise(group + ".unpermute", (copies() + 1) * width_, 1);
        return elementwise(group + ".residual", (has_dropout() ? 5 : 3) * width_, has_dropout() ? 2 : 1);
      case ModuleRole::feed_forward_in:
        // SiLU of the gate 2, its product with the other 3.
        return transformer_.gated ? elementwise(group + ".silu", 5 * outputs, 2)
                                  : elementwise(group + ".gelu", 2 * outputs, 1);
      case ModuleRole::head:
        return elementwise("loss", 2 * outputs, 1);  // log of softmax
      default:
        return;
    }
  }

  // Reads and writes a row a token; backward fills the whole gradient, and adds the tokens' rows to it.
  void lookup(const std::string& name, const std::vector<ParameterTensor>& tensors, double more_passes) {
    add(name, {.values_per_token = 2 * width_}, tensors);
    model_.layers.back().backward.weights = (1 + more_passes) * static_cast<double>(tensors[0].elements);
  }

  void matrix(const std::string& name, const TransformerModule& module) {
    auto inputs = static_cast<double>(module.inputs), outputs = static_cast<double>(module.outputs);
    add(name,
        {.flops_per_token = 2 * inputs * outputs,
         .values_per_token = inputs + outputs,
         .weights = inputs * outputs},
        module.tensors);
  }

  // A token goes to some of them; all are read.
  void experts(const std::string& name, const TransformerModule& module) {
    auto inputs = static_cast<double>(module.inputs), outputs = static_cast<double>(module.outputs);
    add(name,
        {.flops_per_token = copies() * 2 * inputs * outputs,
         .values_per_token = copies() * (inputs + outputs),
         .weights = static_cast<double>(transformer_.experts.count) * inputs * outputs},
        module.tensors);
  }
  [[nodiscard]] double copies() const { return static_cast<double>(transformer_.experts.top_k); }
  [[nodiscard]] bool part_has_experts(const TransformerPart& part) const {
    return part.kind == TransformerPart::Kind::block &&
           transformer_.kind_of(part.block) == BlockKind::experts;
  }

  // Scores and their product with the values, 2 operations a token, a position and a column of the query
  // each; reads query, key and value, and writes one more query.
  void attention(const std::string& name) {
    auto query = static_cast<double>(transformer_.query_width());
    auto key = static_cast<double>(transformer_.key_width());
    add(name, {.flops_per_token_and_position = 4 * query, .values_per_token = 2 * query + 2 * key}, {});
  }

  void elementwise(const std::string& name, double values_per_token, int kernels) {
    add(name, {.values_per_token = values_per_token, .kernels = kernels}, {});
  }

  void add(const std::string& name, const LayerPass& forward, const std::vector<ParameterTensor>& tensors) {
    model_.layers.push_back({name, forward, twice(forward), tensors});
  }

  const Transformer& transformer_;
  double width_;
  Model model_;
};

}  // namespace

Model transformer_layers(const Transformer& transformer, std::int64_t sequence) {
  LayerBuilder builder(transformer);
  for (const auto& part : transformer_parts(transformer, sequence)) builder.add(part);
  return builder.take();
}

}  // namespace ddpsim
