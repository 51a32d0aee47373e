#include "sim/compute/gpt2_model.hpp"

#include <fmt/core.h>

namespace ddpsim {
namespace {

class Gpt2Builder {
 public:
  explicit Gpt2Builder(const Gpt2Size& size) : width_(size.width) { model_.name = size.name; }

  void add(const Gpt2Layer& layer) {
    switch (layer.kind) {
      case Gpt2LayerKind::token_embedding:
        return lookup("transformer.wte", layer.modules[0], kSumWithTheHeads);
      case Gpt2LayerKind::position_embedding:
        lookup("transformer.wpe", layer.modules[0], 0);
        return elementwise("transformer.drop", 5 * width_, 2);  // sum of both embeddings; dropout
      case Gpt2LayerKind::block:
        return block(layer);
      case Gpt2LayerKind::final_norm:
        return norm("transformer.ln_f", layer.modules[0]);
      case Gpt2LayerKind::lm_head:
        matrix("lm_head", {}, width_, kGpt2Vocabulary);
        return elementwise("loss", 2.0 * kGpt2Vocabulary, 1);  // log of softmax
    }
  }

  [[nodiscard]] Model take() { return std::move(model_); }

 private:
  // Adding the lookup's gradient to the head's reads both and writes one.
  static constexpr double kSumWithTheHeads = 3;

  void block(const Gpt2Layer& layer) {
    auto name = fmt::format("transformer.h.{}", layer.block);
    const auto& modules = layer.modules;
    norm(name + ".ln_1", modules[0]);
    matrix(name + ".attn.c_attn", modules[1], width_, 3 * width_);
    attention(name + ".attn");
    matrix(name + ".attn.c_proj", modules[2], width_, width_);
    elementwise(name + ".attn.residual", 5 * width_, 2);  // dropout 2, sum 3
    norm(name + ".ln_2", modules[3]);
    matrix(name + ".mlp.c_fc", modules[4], width_, 4 * width_);
    elementwise(name + ".mlp.gelu", 8 * width_, 1);
    matrix(name + ".mlp.c_proj", modules[5], 4 * width_, width_);
    elementwise(name + ".mlp.residual", 5 * width_, 2);
  }

  // Reads and writes a row a token; backward fills the whole gradient, and adds the tokens' rows to it.
  void lookup(const std::string& name, const Gpt2Module& module, double more_passes) {
    LayerPass forward{.values_per_token = 2 * width_};
    auto backward = twice(forward);
    backward.weights = (1 + more_passes) * static_cast<double>(module.elements());
    add(name, forward, backward, module);
  }

  void norm(const std::string& name, const Gpt2Module& module) {
    LayerPass forward{.values_per_token = 2 * width_};
    add(name, forward, twice(forward), module);
  }

  void matrix(const std::string& name, const Gpt2Module& module, double inputs, double outputs) {
    LayerPass forward{.flops_per_token = 2 * inputs * outputs,
                      .values_per_token = inputs + outputs,
                      .weights = inputs * outputs};
    add(name, forward, twice(forward), module);
  }

  // Scores and their product with the values, 2 width operations a token and position each; reads query, key
  // and value, and writes one more.
  void attention(const std::string& name) {
    LayerPass forward{.flops_per_token_and_position = 4 * width_, .values_per_token = 4 * width_};
    add(name, forward, twice(forward), {});
  }

  void elementwise(const std::string& name, double values_per_token, int kernels) {
    LayerPass forward{.values_per_token = values_per_token, .kernels = kernels};
    add(name, forward, twice(forward), {});
  }

  void add(const std::string& name, const LayerPass& forward, const LayerPass& backward,
           const Gpt2Module& module) {
    ModelLayer layer{name, forward, backward, {}};
    for (const auto& tensor : module.tensors)
      layer.tensors.push_back({tensor.name, tensor.elements, tensor.parameter});
    model_.layers.push_back(std::move(layer));
  }

  double width_;
  Model model_;
};

}  // namespace

Model gpt2_model(const Gpt2Size& size) {
  Gpt2Builder builder(size);
  for (const auto& layer : gpt2_layers(size, true)) builder.add(layer);
  return builder.take();
}

}  // namespace ddpsim
