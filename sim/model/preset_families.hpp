#pragma once
// Rows of transformer_presets(), by what their blocks are made of; each with the names under which models of
// just its sizes are published. The owner, case, and endings such as -Instruct are nobody's own name
// (sim/text/model_names.hpp).
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sim/model/transformer.hpp"

namespace ddpsim::presets {

struct Preset {
  // NOLINTNEXTLINE(google-explicit-constructor): a row without other names is a model.
  Preset(Transformer sizes, std::vector<std::string> other_names = {})
      : model(std::move(sizes)), also(std::move(other_names)) {}
  Transformer model;
  std::vector<std::string> also;
};

// A feed-forward layer four times as wide as the model, and as many heads of keys as of queries.
Transformer classic(const char* name, std::int64_t layers, std::int64_t hidden, std::int64_t heads,
                    std::int64_t vocab, std::int64_t positions);
// A gated feed-forward layer, grouped queries, RMSNorms and no biases; a head of its own.
Transformer llama(const char* name, std::int64_t layers, std::int64_t hidden, std::int64_t heads,
                  std::int64_t kv_heads, std::int64_t ffn, std::int64_t vocab);
// `windows` blocks of attention within a window, then a full one, and so on.
void add_windows(Transformer& model, std::int64_t window, std::int64_t windows);

std::vector<Preset> gpt2();        // the first of all
std::vector<Preset> ungated();     // LayerNorms and a plain feed-forward layer
std::vector<Preset> gated();       // dense, with a gate
std::vector<Preset> of_experts();  // mixtures of experts

}  // namespace ddpsim::presets
