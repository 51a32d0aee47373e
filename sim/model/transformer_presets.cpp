// The transformers that have a name. Parameter counts: tests/model/transformer_test.cpp.
#include <array>

#include "sim/model/transformer.hpp"

namespace ddpsim {
namespace {

// A feed-forward layer four times as wide as the model, and as many heads of keys as of queries.
Transformer classic(const char* name, int layers, int hidden, int heads, int vocab, std::int64_t positions) {
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

// Radford et al., "Language Models are Unsupervised Multitask Learners", table 2; Brown et al., "Language
// Models are Few-Shot Learners" (arXiv 2005.14165), table 2.1.
Transformer gpt(const char* name, int layers, int hidden, int heads, int positions) {
  return classic(name, layers, hidden, heads, 50257, positions);
}

// Touvron et al., "Llama 2" (arXiv 2307.09288) and the config.json published with the weights; Grattafiori et
// al., "The Llama 3 Herd of Models" (arXiv 2407.21783), table 3.
Transformer llama(const char* name, int layers, int hidden, int heads, int kv_heads, int ffn, int vocab) {
  auto model = classic(name, layers, hidden, heads, vocab, 0);
  model.kv_heads = kv_heads;
  model.ffn = ffn;
  model.gated = true;
  model.tied = false;
  model.biases = Biases::none;
  return model;
}

// Jiang et al., "Mixtral of Experts" (arXiv 2401.04088), and the config.json published with the weights:
// 46,702,792,704 parameters, 12,879,925,248 of them active.
Transformer mixtral_8x7b() {
  auto model = llama("mixtral-8x7b", 32, 4096, 32, 8, 14336, 32000);
  model.experts = {.count = 8, .top_k = 2, .ffn = 14336};
  return model;
}

// MPT as in its published training runs: github.com/mosaicml/llm-foundry at
// 061f2c7ce64e655100286584a7629e2a09f827ba, scripts/train/benchmarking/README.md, where each model has
// learned positions of the sequence's length.
Transformer mpt(const char* name, int layers, int hidden, int heads) {
  return classic(name, layers, hidden, heads, 50368, Transformer::kAsLongAsTheSequence);
}

// Devlin et al., "BERT" (arXiv 1810.04805), and bert-*-uncased's config.json. The final norm counted here is
// BERT's embedding norm; two token types and the pooler come on top.
Transformer bert(const char* name, int layers, int hidden, int heads) {
  auto model = classic(name, layers, hidden, heads, 30522, 512);
  model.causal = false;
  model.extra_parameters = 2 * hidden + hidden * hidden + hidden;
  return model;
}

}  // namespace

std::span<const Transformer> transformer_presets() {
  static const std::array presets{
      // gpt2_presets()
      gpt("gpt2", 12, 768, 12, 1024),
      gpt("gpt2-medium", 24, 1024, 16, 1024),
      gpt("gpt2-large", 36, 1280, 20, 1024),
      gpt("gpt2-xl", 48, 1600, 25, 1024),
      gpt("gpt3-175b", 96, 12288, 96, 2048),
      llama("llama-2-7b", 32, 4096, 32, 32, 11008, 32000),
      llama("llama-2-13b", 40, 5120, 40, 40, 13824, 32000),
      llama("llama-2-70b", 80, 8192, 64, 8, 28672, 32000),
      llama("llama-3-8b", 32, 4096, 32, 8, 14336, 128256),
      llama("llama-3-70b", 80, 8192, 64, 8, 28672, 128256),
      llama("llama-3-405b", 126, 16384, 128, 8, 53248, 128256),
      mixtral_8x7b(),
      mpt("mpt-125m", 12, 768, 12),
      mpt("mpt-350m", 24, 1024, 16),
      mpt("mpt-760m", 24, 1536, 12),
      mpt("mpt-1b", 24, 2048, 16),
      mpt("mpt-3b", 32, 2560, 20),
      mpt("mpt-7b", 32, 4096, 32),
      mpt("mpt-13b", 40, 5120, 40),
      mpt("mpt-30b", 48, 7168, 56),
      mpt("mpt-70b", 80, 8192, 64),
      bert("bert-base", 12, 768, 12),
      bert("bert-large", 24, 1024, 16),
  };
  return presets;
}

std::span<const Transformer> gpt2_presets() {
  return transformer_presets().first(4);
}

}  // namespace ddpsim
