#include "sim/compute/transformer_layers.hpp"

#include <algorithm>

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
  LayerBuilder(const Transformer& transformer, std::int64_t sequence)
      : transformer_(transformer),
        sequence_(std::max<std::int64_t>(1, sequence)),
        width_(static_cast<double>(transformer.hidden)) {
    model_.name = transformer.name;
  }

  void add(const TransformerPart& part) {
    const auto& modules = part.modules;
    kind_ = part.kind == TransformerPart::Kind::block ? transformer_.kind_of(part.block) : BlockKind();
    for (std::size_t i = 0; i < modules.size(); ++i) {
      add(modules[i]);
      // What follows several matrices of one input follows the last of them.
      bool more = i + 1 < modules.size() && modules[i + 1].role == modules[i].role;
      // Of experts and shared ones there is one sum.
      bool is_shared = modules[i].role == ModuleRole::feed_forward_out && kind_.has_experts;
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
      case ModuleRole::attention_vector:
        return add(name, {.kernels = 0}, module.tensors);
      case ModuleRole::query_key_value:
      case ModuleRole::attention_down:
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

  // Scores and their product with the values; reads query, key and value, and writes the output. Operations
  // grow with the sequence, or a linear attention's do not.
  void attention(const std::string& name) {
    auto of = transformer_.widths(kind_.attention);
    LayerPass pass{.values_per_token = static_cast<double>(of.query + of.key + of.value + of.output)};
    double all = transformer_.attention_operations(kind_.attention, sequence_);
    if (kind_.attention == AttentionKind::linear)
      pass.flops_per_token = all;
    else
      pass.flops_per_token_and_position = all / static_cast<double>(sequence_);
    add(name, pass, {});
  }

  void elementwise(const std::string& name, double values_per_token, int kernels) {
    add(name, {.values_per_token = values_per_token, .kernels = kernels}, {});
  }

  void add(const std::string& name, const LayerPass& forward, const std::vector<ParameterTensor>& tensors) {
    model_.layers.push_back({name, forward, twice(forward), tensors});
  }

  const Transformer& transformer_;
  std::int64_t sequence_;
  double width_;
  BlockKind kind_;  // of the block that is added
  Model model_;
};

}  // namespace

Model transformer_layers(const Transformer& transformer, std::int64_t sequence) {
  LayerBuilder builder(transformer, sequence);
  for (const auto& part : transformer_parts(transformer, sequence)) builder.add(part);
  return builder.take();
}

}  // namespace ddpsim
