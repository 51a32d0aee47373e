// Dense transformers with a gated feed-forward layer. Sizes are those of the config.json published with the
// weights, and of what else stands here.
#include "sim/model/preset_families.hpp"

namespace ddpsim::presets {
namespace {

Transformer tied(Transformer model) {
  model.tied = true;
  return model;
}

Transformer with_head(Transformer model, std::int64_t width) {
  model.head_dim = width;
  return model;
}

// Attention within so many tokens, in every block.
Transformer windowed(Transformer model, std::int64_t window) {
  model.window = window;
  return model;
}

// Qwen Team, "Qwen2.5 Technical Report" (arXiv 2412.15115), table 1: biases of query, key and value.
Transformer qwen2(Transformer model) {
  model.biases = Biases::qkv;
  return model;
}

// Yang et al., "Qwen3 Technical Report" (arXiv 2505.09388), table 1: norms of queries and keys.
Transformer qwen3(const char* name, int layers, int hidden, int heads, int ffn) {
  auto model = with_head(llama(name, layers, hidden, heads, 8, ffn, 151936), 128);
  model.head_norms = HeadNorms::each;
  return model;
}

// Gemma Team, "Gemma 2" (arXiv 2408.00118), table 1: norms before and after; every other block looks back
// 4,096 tokens.
Transformer gemma2(const char* name, int layers, int hidden, int heads, int kv_heads, int ffn, int head) {
  auto model = with_head(tied(llama(name, layers, hidden, heads, kv_heads, ffn, 256000)), head);
  model.norms = BlockNorms::both;
  add_windows(model, 4096, 1);
  return model;
}

// Gemma Team, "Gemma 3 Technical Report" (arXiv 2503.19786): the language model; norms of heads, too, and
// five blocks in six look back over a window.
Transformer gemma3(Transformer model, int head, int window) {
  model = with_head(tied(std::move(model)), head);
  model.norms = BlockNorms::both;
  model.head_norms = HeadNorms::each;
  add_windows(model, window, 5);
  return model;
}

// OLMo Team, "2 OLMo 2 Furious" (arXiv 2501.00656): norms after attention and feed-forward layer, and of all
// queries and all keys.
Transformer olmo2(const char* name, int layers, int hidden, int heads, int kv_heads, int ffn) {
  auto model = llama(name, layers, hidden, heads, kv_heads, ffn, 100352);
  model.norms = BlockNorms::after;
  model.head_norms = HeadNorms::all;
  return model;
}

// Touvron et al., "Llama 2" (arXiv 2307.09288); Rozière et al., "Code Llama" (arXiv 2308.12950); Grattafiori
// et al., "The Llama 3 Herd of Models" (arXiv 2407.21783), table 3, whose sizes 3.1 and 3.3 have, too.
std::vector<Preset> llamas() {
  return {
      {llama("llama-2-7b", 32, 4096, 32, 32, 11008, 32000)},
      {llama("llama-2-13b", 40, 5120, 40, 40, 13824, 32000)},
      {llama("llama-2-70b", 80, 8192, 64, 8, 28672, 32000)},
      {llama("llama-3-8b", 32, 4096, 32, 8, 14336, 128256),
       {"llama-3.1-8b", "meta-llama-3-8b", "meta-llama-3.1-8b", "deepseek-r1-distill-llama-8b"}},
      {llama("llama-3-70b", 80, 8192, 64, 8, 28672, 128256),
       {"llama-3.1-70b", "llama-3.3-70b", "meta-llama-3-70b", "meta-llama-3.1-70b",
        "deepseek-r1-distill-llama-70b"}},
      {llama("llama-3-405b", 126, 16384, 128, 8, 53248, 128256), {"llama-3.1-405b", "meta-llama-3.1-405b"}},
      {tied(llama("llama-3.2-1b", 16, 2048, 32, 8, 8192, 128256))},
      {tied(llama("llama-3.2-3b", 28, 3072, 24, 8, 8192, 128256))},
      {llama("codellama-7b", 32, 4096, 32, 32, 11008, 32016)},
      {llama("codellama-13b", 40, 5120, 40, 40, 13824, 32016)},
      {llama("codellama-34b", 48, 8192, 64, 8, 22016, 32000)},
  };
}

// Of Llama's blocks. Jiang et al., "Mistral 7B" (arXiv 2310.06825): the first looks back 4,096 tokens;
// mistral.ai/news, "Mistral NeMo", "Mistral Small 3"; Zhang et al., "TinyLlama" (arXiv 2401.02385); Ben Allal
// et al., "SmolLM2" (arXiv 2502.02737); 01.AI, "Yi" (arXiv 2403.04652); Guo et al., "DeepSeek-Coder" (arXiv
// 2401.14196). Abdin et al., "Phi-3 Technical Report" (arXiv 2404.14219) and "Phi-4 Technical Report" (arXiv
// 2412.08905): those of 4k tokens look back 2,047.
std::vector<Preset> of_llamas_blocks() {
  return {
      {windowed(llama("mistral-7b-v0.1", 32, 4096, 32, 8, 14336, 32000), 4096)},
      {llama("mistral-7b-v0.2", 32, 4096, 32, 8, 14336, 32000)},
      {llama("mistral-7b", 32, 4096, 32, 8, 14336, 32768), {"mistral-7b-v0.3"}},
      {with_head(llama("mistral-nemo-12b", 40, 5120, 32, 8, 14336, 131072), 128), {"mistral-nemo"}},
      {with_head(llama("mistral-small-24b", 40, 5120, 32, 8, 32768, 131072), 128)},
      {llama("tinyllama-1.1b", 22, 2048, 32, 4, 5632, 32000), {"tinyllama"}},
      {tied(llama("smollm2-135m", 30, 576, 9, 3, 1536, 49152)), {"smollm-135m"}},
      {tied(llama("smollm2-360m", 32, 960, 15, 5, 2560, 49152)), {"smollm-360m"}},
      {tied(llama("smollm2-1.7b", 24, 2048, 32, 32, 8192, 49152)), {"smollm-1.7b"}},
      {llama("yi-6b", 32, 4096, 32, 4, 11008, 64000), {"yi-1.5-6b"}},
      {llama("yi-9b", 48, 4096, 32, 4, 11008, 64000), {"yi-1.5-9b"}},
      {llama("yi-34b", 60, 7168, 56, 8, 20480, 64000), {"yi-1.5-34b"}},
      {llama("deepseek-coder-1.3b", 24, 2048, 16, 16, 5504, 32256)},
      {llama("deepseek-coder-6.7b", 32, 4096, 32, 32, 11008, 32256)},
      {llama("deepseek-coder-33b", 62, 7168, 56, 8, 19200, 32256)},
      {windowed(llama("phi-3-mini", 32, 3072, 32, 32, 8192, 32064), 2047), {"phi-3-mini-4k"}},
      {llama("phi-3-mini-128k", 32, 3072, 32, 32, 8192, 32064), {"phi-3.5-mini"}},
      {windowed(llama("phi-3-medium", 40, 5120, 40, 10, 17920, 32064), 2047), {"phi-3-medium-4k"}},
      {llama("phi-3-medium-128k", 40, 5120, 40, 10, 17920, 32064)},
      {llama("phi-4", 40, 5120, 40, 10, 17920, 100352), {"phi-4-14b"}},
  };
}

std::vector<Preset> qwens() {
  return {
      {tied(qwen2(llama("qwen2.5-0.5b", 24, 896, 14, 2, 4864, 151936))),
       {"qwen2-0.5b", "qwen2.5-coder-0.5b"}},
      {tied(qwen2(llama("qwen2.5-1.5b", 28, 1536, 12, 2, 8960, 151936))),
       {"qwen2-1.5b", "qwen2.5-coder-1.5b", "qwen2.5-math-1.5b"}},
      {tied(qwen2(llama("qwen2.5-3b", 36, 2048, 16, 2, 11008, 151936))), {"qwen2.5-coder-3b"}},
      {qwen2(llama("qwen2.5-7b", 28, 3584, 28, 4, 18944, 152064)),
       {"qwen2-7b", "qwen2.5-coder-7b", "qwen2.5-math-7b", "deepseek-r1-distill-qwen-7b"}},
      {qwen2(llama("qwen2.5-14b", 48, 5120, 40, 8, 13824, 152064)),
       {"qwen2.5-coder-14b", "deepseek-r1-distill-qwen-14b"}},
      {qwen2(llama("qwen2.5-32b", 64, 5120, 40, 8, 27648, 152064)),
       {"qwen2.5-coder-32b", "qwq-32b", "deepseek-r1-distill-qwen-32b"}},
      {qwen2(llama("qwen2.5-72b", 80, 8192, 64, 8, 29568, 152064)), {"qwen2-72b", "qwen2.5-math-72b"}},
      {tied(qwen3("qwen3-0.6b", 28, 1024, 16, 3072))},
      {tied(qwen3("qwen3-1.7b", 28, 2048, 16, 6144))},
      {tied(qwen3("qwen3-4b", 36, 2560, 32, 9728))},
      {qwen3("qwen3-8b", 36, 4096, 32, 12288)},
      {qwen3("qwen3-14b", 40, 5120, 40, 17408)},
      {qwen3("qwen3-32b", 64, 5120, 64, 25600)},
  };
}

// GLM Team, "ChatGLM" (arXiv 2406.12793), as glm-4-9b-hf: biases of query, key and value. Its blocks with
// four norms (GLM-4-9B-0414) are glm-4-9b-0414.
std::vector<Preset> glms() {
  auto glm = qwen2(llama("glm-4-9b", 40, 4096, 32, 2, 13696, 151552));
  auto later = glm;
  later.name = "glm-4-9b-0414";
  later.biases = Biases::none;
  later.norms = BlockNorms::both;
  return {{glm}, {later}};
}

std::vector<Preset> gemmas_and_olmos() {
  return {
      {gemma2("gemma-2-2b", 26, 2304, 8, 4, 9216, 256)},
      {gemma2("gemma-2-9b", 42, 3584, 16, 8, 14336, 256)},
      {gemma2("gemma-2-27b", 46, 4608, 32, 16, 36864, 128)},
      {gemma3(llama("gemma-3-1b", 26, 1152, 4, 1, 6912, 262144), 256, 512)},
      {gemma3(llama("gemma-3-4b", 34, 2560, 8, 4, 10240, 262208), 256, 1024)},
      {gemma3(llama("gemma-3-12b", 48, 3840, 16, 8, 15360, 262208), 256, 1024)},
      {gemma3(llama("gemma-3-27b", 62, 5376, 32, 16, 21504, 262208), 128, 1024)},
      {olmo2("olmo-2-7b", 32, 4096, 32, 32, 11008), {"olmo-2-1124-7b"}},
      {olmo2("olmo-2-13b", 40, 5120, 40, 40, 13824), {"olmo-2-1124-13b"}},
      {olmo2("olmo-2-32b", 64, 5120, 40, 8, 27648), {"olmo-2-0325-32b"}},
  };
}

}  // namespace

std::vector<Preset> gated() {
  std::vector<Preset> all;
  for (auto family : {llamas, of_llamas_blocks, qwens, glms, gemmas_and_olmos})
    for (auto& one : family()) all.push_back(std::move(one));
  return all;
}

}  // namespace ddpsim::presets
