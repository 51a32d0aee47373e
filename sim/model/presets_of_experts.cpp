// Mixtures of experts. Sizes are those of the config.json published with the weights, and of what else stands
// here.
#include "sim/model/preset_families.hpp"

namespace ddpsim::presets {
namespace {

// Jiang et al., "Mixtral of Experts" (arXiv 2401.04088): 46,702,792,704 parameters, 12,879,925,248 of them
// active.
Transformer mixtral_8x7b() {
  auto model = llama("mixtral-8x7b", 32, 4096, 32, 8, 14336, 32000);
  model.experts = {.count = 8, .top_k = 2, .ffn = 14336};
  return model;
}

// mistral.ai/news, "Cheaper, Better, Faster, Stronger".
Transformer mixtral_8x22b(const char* name, int vocab) {
  auto model = llama(name, 56, 6144, 48, 8, 16384, vocab);
  model.experts = {.count = 8, .top_k = 2, .ffn = 16384};
  return model;
}

// Yang et al., "Qwen3 Technical Report" (arXiv 2505.09388).
Transformer qwen3_moe(const char* name, int layers, int hidden, int heads, int kv_heads, int ffn, int experts,
                      int top_k, int expert_ffn) {
  auto model = llama(name, layers, hidden, heads, kv_heads, ffn, 151936);
  model.head_dim = 128;
  model.head_norms = HeadNorms::each;
  model.experts = {.count = experts, .top_k = top_k, .ffn = expert_ffn};
  return model;
}

// Three blocks in four have linear attention: Qwen3-Next-80B-A3B's config.json.
Transformer qwen3_next() {
  auto model = qwen3_moe("qwen3-next-80b-a3b", 48, 2048, 16, 2, 5120, 512, 10, 512);
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

// OpenAI, "gpt-oss-120b & gpt-oss-20b Model Card" (arXiv 2508.10925): every other block looks back 128
// tokens.
Transformer gpt_oss(const char* name, int layers, int experts) {
  auto model = llama(name, layers, 2880, 64, 8, 2880, 201088);
  model.head_dim = 64;
  model.biases = Biases::attention;
  model.sinks = true;
  model.experts = {.count = experts, .top_k = 4, .ffn = 2880, .has_bias = true, .router_bias = true};
  add_windows(model, 128, 1);
  return model;
}

// Attention and blocks of DeepSeek-AI, "DeepSeek-V2" (arXiv 2405.04434): the first `dense` have no experts.
void add_latent(Transformer& model, std::int64_t query_rank, std::int64_t dense) {
  model.latent = {.query_rank = query_rank, .rank = 512, .nope = 128, .rope = 64, .value = 128};
  model.head_dim = 192;
  model.blocks = {{{AttentionKind::latent, false}, dense},
                  {{AttentionKind::latent, true}, model.layers - dense}};
}

Transformer deepseek_v2() {
  auto model = llama("deepseek-v2", 60, 5120, 128, 128, 12288, 102400);
  model.experts = {.count = 160, .top_k = 6, .ffn = 1536, .shared = 2};
  add_latent(model, 1536, 1);
  return model;
}

Transformer deepseek_v2_lite() {
  auto model = llama("deepseek-v2-lite", 27, 2048, 16, 16, 10944, 102400);
  model.experts = {.count = 64, .top_k = 6, .ffn = 1408, .shared = 2};
  add_latent(model, 0, 1);
  return model;
}

// DeepSeek-AI, "DeepSeek-V3 Technical Report" (arXiv 2412.19437), Kimi Team, "Kimi K2" (arXiv 2507.20534);
// without the block that predicts one more token.
Transformer deepseek_v3(const char* name, int heads, int vocab, int experts, int dense) {
  auto model = llama(name, 61, 7168, heads, heads, 18432, vocab);
  model.experts = {.count = experts, .top_k = 8, .ffn = 2048, .shared = 1, .router_bias = true};
  add_latent(model, 1536, dense);
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

// GLM-4.5 Team, "GLM-4.5" (arXiv 2508.06471), table 1: biases of query, key and value; the first `dense`
// blocks have no experts. Without the block that predicts one more token, which the 355B of the paper count.
Transformer glm_moe(Transformer model, const Experts& experts, std::int64_t dense) {
  model.head_dim = 128;
  model.biases = Biases::qkv;
  model.experts = experts;
  model.blocks = {{{AttentionKind::full, false}, dense}, {{AttentionKind::full, true}, model.layers - dense}};
  return model;
}

Transformer glm_4_5() {
  auto model = glm_moe(llama("glm-4.5", 92, 5120, 96, 8, 12288, 151552),
                       {.count = 160, .top_k = 8, .ffn = 1536, .shared = 1, .router_bias = true}, 3);
  model.head_norms = HeadNorms::each;
  return model;
}

Transformer glm_4_5_air() {
  return glm_moe(llama("glm-4.5-air", 46, 4096, 96, 8, 10944, 151552),
                 {.count = 128, .top_k = 8, .ffn = 1408, .shared = 1, .router_bias = true}, 1);
}

}  // namespace

std::vector<Preset> of_experts() {
  return {
      {mixtral_8x7b()},
      {mixtral_8x22b("mixtral-8x22b", 32000)},
      {mixtral_8x22b("mixtral-8x22b-v0.3", 32768), {"mixtral-8x22b-instruct", "mixtral-8x22b-instruct-v0.1"}},
      {qwen3_moe("qwen3-30b-a3b", 48, 2048, 32, 4, 6144, 128, 8, 768)},
      {qwen3_moe("qwen3-235b-a22b", 94, 4096, 64, 4, 12288, 128, 8, 1536)},
      {qwen3_next()},
      {gpt_oss("gpt-oss-20b", 24, 32)},
      {gpt_oss("gpt-oss-120b", 36, 128)},
      {deepseek_v2(), {"deepseek-v2.5", "deepseek-coder-v2"}},
      {deepseek_v2_lite(), {"deepseek-coder-v2-lite"}},
      {deepseek_v3("deepseek-v3", 128, 129280, 256, 3),
       {"deepseek-v3.1", "deepseek-r1", "deepseek-r1-zero", "deepseek-prover-v2-671b"}},
      {deepseek_v3("kimi-k2", 64, 163840, 384, 1)},
      {llama_4("llama-4-scout", 16, 1), {"llama-4-scout-17b-16e"}},
      {llama_4("llama-4-maverick", 128, 2), {"llama-4-maverick-17b-128e"}},
      {glm_4_5(), {"glm-4.6", "glm-4.7"}},
      {glm_4_5_air()},
  };
}

}  // namespace ddpsim::presets
