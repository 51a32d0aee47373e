#include "sim/trace/gpt2.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "sim/base/check.hpp"

namespace ddpsim {
namespace {

// Numbers the tensors in the order in which they are made.
class Registry {
 public:
  Gpt2Module embedding(const std::string& name, std::int64_t rows, std::int64_t width) {
    return {{tensor(name + ".weight", rows * width)}};
  }

  Gpt2Module layer_norm(const std::string& name, std::int64_t width) {
    auto weight = tensor(name + ".weight", width);
    auto bias = tensor(name + ".bias", width);
    return {{std::move(weight), std::move(bias)}};
  }

  Gpt2Module linear(const std::string& name, std::int64_t inputs, std::int64_t outputs) {
    auto weight = tensor(name + ".weight", inputs * outputs);
    auto bias = tensor(name + ".bias", outputs);
    return {{std::move(bias), std::move(weight)}};
  }

 private:
  Gpt2Tensor tensor(const std::string& name, std::int64_t elements) { return {name, elements, n_tensors_++}; }
  std::size_t n_tensors_ = 0;
};

// A statement a module: the order of evaluation is the order of registration.
Gpt2Layer make_block(Registry& registry, int index, std::int64_t width) {
  auto name = fmt::format("transformer.h.{}", index);
  Gpt2Layer layer{Gpt2LayerKind::block, index, {}};
  layer.modules.push_back(registry.layer_norm(name + ".ln_1", width));
  layer.modules.push_back(registry.linear(name + ".attn.c_attn", width, 3 * width));  // query, key and value
  layer.modules.push_back(registry.linear(name + ".attn.c_proj", width, width));
  layer.modules.push_back(registry.layer_norm(name + ".ln_2", width));
  layer.modules.push_back(registry.linear(name + ".mlp.c_fc", width, 4 * width));
  layer.modules.push_back(registry.linear(name + ".mlp.c_proj", 4 * width, width));
  return layer;
}

}  // namespace

const Gpt2Size& find_gpt2_size(std::string_view name) {
  const auto* size =
      std::find_if(kGpt2Sizes.begin(), kGpt2Sizes.end(), [&](const auto& s) { return s.name == name; });
  DDPSIM_CHECK(size != kGpt2Sizes.end(), "a name that was checked");
  return *size;
}

std::int64_t Gpt2Module::elements() const {
  std::int64_t total = 0;
  for (const auto& tensor : tensors) total += tensor.elements;
  return total;
}

std::int64_t Gpt2Layer::elements() const {
  std::int64_t total = 0;
  for (const auto& module : modules) total += module.elements();
  return total;
}

std::vector<Gpt2Layer> gpt2_layers(const Gpt2Size& size, bool tied_embedding) {
  Registry registry;
  std::vector<Gpt2Layer> layers;
  layers.push_back({Gpt2LayerKind::token_embedding,
                    0,
                    {registry.embedding("transformer.wte", kGpt2Vocabulary, size.width)}});
  layers.push_back({Gpt2LayerKind::position_embedding,
                    0,
                    {registry.embedding("transformer.wpe", kGpt2Positions, size.width)}});
  for (int i = 0; i < size.layers; ++i) layers.push_back(make_block(registry, i, size.width));
  layers.push_back({Gpt2LayerKind::final_norm, 0, {registry.layer_norm("transformer.ln_f", size.width)}});
  layers.push_back({Gpt2LayerKind::lm_head, 0, {}});
  if (!tied_embedding)
    layers.back().modules.push_back(registry.embedding("lm_head", kGpt2Vocabulary, size.width));
  return layers;
}

std::vector<Gpt2Tensor> gpt2_arrival_order(const Gpt2Size& size, bool tied_embedding) {
  std::vector<Gpt2Tensor> tensors;
  auto layers = gpt2_layers(size, tied_embedding);
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer)
    for (auto module = layer->modules.rbegin(); module != layer->modules.rend(); ++module)
      tensors.insert(tensors.end(), module->tensors.begin(), module->tensors.end());
  return tensors;
}

std::vector<Gpt2Tensor> gpt2_registration_order(const Gpt2Size& size, bool tied_embedding) {
  auto tensors = gpt2_arrival_order(size, tied_embedding);
  std::sort(tensors.begin(), tensors.end(),
            [](const auto& a, const auto& b) { return a.parameter < b.parameter; });
  return tensors;
}

}  // namespace ddpsim
