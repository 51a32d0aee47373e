// The transformers that have a name. Parameter counts: tests/model/published_counts_test.cpp.
#include <algorithm>
#include <iterator>

#include "sim/model/preset_families.hpp"

namespace ddpsim {
namespace presets {

Transformer classic(const char* name, std::int64_t layers, std::int64_t hidden, std::int64_t heads,
                    std::int64_t vocab, std::int64_t positions) {
  return {.name = name,
          .hidden = hidden,
          .layers = layers,
          .heads = heads,
          .kv_heads = heads,
          .head_dim = hidden / heads,
          .ffn = 4 * hidden,
          .vocab = vocab,
          .positions = positions};
}

Transformer llama(const char* name, std::int64_t layers, std::int64_t hidden, std::int64_t heads,
                  std::int64_t kv_heads, std::int64_t ffn, std::int64_t vocab) {
  auto model = classic(name, layers, hidden, heads, vocab, 0);
  model.kv_heads = kv_heads;
  model.ffn = ffn;
  model.gated = true;
  model.tied = false;
  model.biases = Biases::none;
  return model;
}

void add_windows(Transformer& model, std::int64_t window, std::int64_t windows) {
  model.window = window;
  for (std::int64_t block = 0; block < model.layers; ++block) {
    auto kind = (block + 1) % (windows + 1) == 0 ? AttentionKind::full : AttentionKind::window;
    if (model.blocks.empty() || model.blocks.back().kind.attention != kind)
      model.blocks.push_back({{kind, model.has_experts()}, 0});
    ++model.blocks.back().count;
  }
}

namespace {

struct Table {
  std::vector<Transformer> models;
  std::vector<std::vector<std::string>> also;
};

const Table& table() {
  static const Table all = [] {
    Table made;
    for (auto family : {gpt2, ungated, gated, of_experts})
      for (auto& [model, also] : family()) {
        made.models.push_back(std::move(model));
        made.also.push_back(std::move(also));
      }
    return made;
  }();
  return all;
}

}  // namespace
}  // namespace presets

std::span<const Transformer> transformer_presets() {
  return presets::table().models;
}

std::span<const Transformer> gpt2_presets() {
  return transformer_presets().first(4);
}

std::span<const std::string> transformer_aliases(std::string_view name) {
  const auto& [models, also] = presets::table();
  auto found = std::ranges::find(models, name, &Transformer::name);
  if (found == models.end()) return {};
  return also[static_cast<std::size_t>(std::distance(models.begin(), found))];
}

}  // namespace ddpsim
