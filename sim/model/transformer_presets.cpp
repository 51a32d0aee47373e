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

// Yang et al., "Qwen3 Technical Report" (arXiv 2505.09388), and the config.json published with the weights.
Transformer qwen3(const char* name, int layers, int hidden, int heads, int kv_heads, int ffn, int experts,
                  int top_k, int expert_ffn) {
  auto model = llama(name, layers, hidden, heads, kv_heads, ffn, 151936);
  model.head_dim = 128;
  model.head_norms = true;
  model.experts = {.count = experts, .top_k = top_k, .ffn = expert_ffn};
  return model;
}

// Three blocks in four have linear attention: Qwen3-Next-80B-A3B's config.json.
Transformer qwen3_next() {
  auto model = qwen3("qwen3-next-80b-a3b", 48, 2048, 16, 2, 5120, 512, 10, 512);
  model.head_dim = 256;
  model.query_gate = true;
  model.experts.shared = 1;
  model.experts.shared_gate = true;
  model.linear = {.key_heads = 16, .value_heads = 32, .key_dim = 128, .value_dim = 128, .conv = 4};
  for (int i = 0; i < 12; ++i) {
    model.blocks.push_back({{AttentionKind::linear, true}, 3});
    model.blocks.push_back({{AttentionKind::full, true}, 1});
  }
  return model;
}

// OpenAI, "gpt-oss-120b & gpt-oss-20b Model Card" (arXiv 2508.10925), and the config.json published with the
// weights: every other block looks back 128 tokens.
Transformer gpt_oss(const char* name, int layers, int experts) {
  auto model = llama(name, layers, 2880, 64, 8, 2880, 201088);
  model.head_dim = 64;
  model.biases = Biases::attention;
  model.sinks = true;
  model.window = 128;
  model.experts = {.count = experts, .top_k = 4, .ffn = 2880, .has_bias = true, .router_bias = true};
  for (int i = 0; i < layers / 2; ++i)
    for (auto kind : {AttentionKind::window, AttentionKind::full}) model.blocks.push_back({{kind, true}, 1});
  return model;
}

// DeepSeek-AI, "DeepSeek-V3 Technical Report" (arXiv 2412.19437), Kimi Team, "Kimi K2" (arXiv 2507.20534),
// and the config.json published with the weights; without the block that predicts one more token.
Transformer deepseek_v3(const char* name, int heads, int vocab, int experts, int dense) {
  auto model = llama(name, 61, 7168, heads, heads, 18432, vocab);
  model.latent = {.query_rank = 1536, .rank = 512, .nope = 128, .rope = 64, .value = 128};
  model.head_dim = 192;
  model.experts = {.count = experts, .top_k = 8, .ffn = 2048, .shared = 1, .router_bias = true};
  model.blocks = {{{AttentionKind::latent, false}, dense}, {{AttentionKind::latent, true}, 61 - dense}};
  return model;
}

// The config.json published with Llama 4's weights: the text model. Three blocks in four attend within 8,192
// tokens; of Maverick's every other one has experts.
Transformer llama_4(const char* name, int experts, int step) {
  auto model = llama(name, 48, 5120, 40, 8, 16384, 202048);
  model.head_dim = 128;
  model.window = 8192;
  model.experts = {.count = experts, .top_k = 1, .ffn = 8192, .shared = 1};
  for (int i = 1; i <= 48; ++i)
    model.blocks.push_back({{i % 4 == 0 ? AttentionKind::full : AttentionKind::window, i % step == 0}, 1});
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
      qwen3("qwen3-30b-a3b", 48, 2048, 32, 4, 6144, 128, 8, 768),
      qwen3("qwen3-235b-a22b", 94, 4096, 64, 4, 12288, 128, 8, 1536),
      qwen3_next(),
      gpt_oss("gpt-oss-20b", 24, 32),
      gpt_oss("gpt-oss-120b", 36, 128),
      deepseek_v3("deepseek-v3", 128, 129280, 256, 3),
      deepseek_v3("kimi-k2", 64, 163840, 384, 1),
      llama_4("llama-4-scout", 16, 1),
      llama_4("llama-4-maverick", 128, 2),
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
