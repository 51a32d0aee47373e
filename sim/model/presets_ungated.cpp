// Transformers whose feed-forward layers have no gate. Sizes are those of the config.json published with the
// weights, and of what else stands here.
#include "sim/model/preset_families.hpp"

namespace ddpsim::presets {
namespace {

// Radford et al., "Language Models are Unsupervised Multitask Learners", table 2; Brown et al., "Language
// Models are Few-Shot Learners" (arXiv 2005.14165), table 2.1.
Transformer gpt(const char* name, int layers, int hidden, int heads, int positions) {
  return classic(name, layers, hidden, heads, 50257, positions);
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

// Liu et al., "RoBERTa" (arXiv 1907.11692): BERT with one token type, and two positions that no token has
// (modeling_roberta.py: positions are counted from padding_idx + 1).
Transformer roberta(const char* name, int layers, int hidden, int heads) {
  auto model = bert(name, layers, hidden, heads);
  model.vocab = 50265;
  model.extra_parameters = (2 + 1) * hidden + hidden * hidden + hidden;
  return model;
}

// Zhang et al., "OPT" (arXiv 2205.01068), table 1: two positions that no token has (modeling_opt.py,
// `offset`). The one of 350M has no final norm and narrower embeddings: it is not here.
Transformer opt(const char* name, int layers, int hidden, int heads) {
  auto model = classic(name, layers, hidden, heads, 50272, 2048);
  model.extra_parameters = 2 * hidden;
  return model;
}

// BigScience Workshop, "BLOOM" (arXiv 2211.05100), table 3: ALiBi; a norm after the embedding.
Transformer bloom(const char* name, int layers, int hidden, int heads) {
  auto model = classic(name, layers, hidden, heads, 250880, 0);
  model.extra_parameters = 2 * hidden;
  return model;
}

// Biderman et al., "Pythia" (arXiv 2304.01373), table 1; Black et al., "GPT-NeoX-20B" (arXiv 2204.06745):
// attention and feed-forward layer side by side, each after a norm of its own.
Transformer neox(const char* name, int layers, int hidden, int heads, int vocab) {
  auto model = classic(name, layers, hidden, heads, vocab, 0);
  model.tied = false;
  model.rotary = true;
  return model;
}

// Wang and Komatsuzaki, "GPT-J-6B" (github.com/kingoflolz/mesh-transformer-jax): one norm for attention and
// feed-forward layer; the head has biases.
Transformer gpt_j() {
  auto model = neox("gpt-j-6b", 28, 4096, 16, 50400);
  model.norms = BlockNorms::one;
  model.norm_bias = true;
  model.biases = Biases::feed_forward;
  model.extra_parameters = 50400;
  return model;
}

// Almazrouei et al., "The Falcon Series of Open Language Models" (arXiv 2311.16867): attention and
// feed-forward layer side by side, in 7B after one norm; norms alone have biases.
Transformer falcon(const char* name, int layers, int hidden, int heads, int kv_heads) {
  auto model = classic(name, layers, hidden, heads, 65024, 0);
  model.kv_heads = kv_heads;
  model.rotary = true;
  model.biases = Biases::none;
  model.norm_bias = true;
  if (kv_heads == 1) model.norms = BlockNorms::one;
  return model;
}

// Lozhkov et al., "StarCoder 2 and The Stack v2" (arXiv 2402.19173), table 7; the config.json has the window.
Transformer starcoder2(const char* name, int layers, int hidden, int heads, int kv_heads) {
  auto model = classic(name, layers, hidden, heads, 49152, 0);
  model.kv_heads = kv_heads;
  model.rotary = true;
  model.window = 4096;
  return model;
}

Transformer untied(Transformer model) {
  model.tied = false;
  return model;
}

}  // namespace

std::vector<Preset> gpt2() {
  return {{gpt("gpt2", 12, 768, 12, 1024), {"gpt2-small", "gpt2-124m"}},
          {gpt("gpt2-medium", 24, 1024, 16, 1024)},
          {gpt("gpt2-large", 36, 1280, 20, 1024)},
          {gpt("gpt2-xl", 48, 1600, 25, 1024), {"gpt2-1.5b"}}};
}

std::vector<Preset> ungated() {
  return {
      {gpt("gpt3-175b", 96, 12288, 96, 2048), {"gpt-3-175b"}},
      {mpt("mpt-125m", 12, 768, 12)},
      {mpt("mpt-350m", 24, 1024, 16)},
      {mpt("mpt-760m", 24, 1536, 12)},
      {mpt("mpt-1b", 24, 2048, 16)},
      {mpt("mpt-3b", 32, 2560, 20)},
      {mpt("mpt-7b", 32, 4096, 32)},
      {mpt("mpt-13b", 40, 5120, 40)},
      {mpt("mpt-30b", 48, 7168, 56)},
      {mpt("mpt-70b", 80, 8192, 64)},
      {bert("bert-base", 12, 768, 12)},
      {bert("bert-large", 24, 1024, 16)},
      {roberta("roberta-base", 12, 768, 12)},
      {roberta("roberta-large", 24, 1024, 16)},
      {opt("opt-125m", 12, 768, 12)},
      {opt("opt-1.3b", 24, 2048, 32)},
      {opt("opt-2.7b", 32, 2560, 32)},
      {opt("opt-6.7b", 32, 4096, 32)},
      {opt("opt-13b", 40, 5120, 40)},
      {opt("opt-30b", 48, 7168, 56)},
      {opt("opt-66b", 64, 9216, 72)},
      {bloom("bloom-560m", 24, 1024, 16), {"bloomz-560m"}},
      {bloom("bloom-1b1", 24, 1536, 16), {"bloomz-1b1"}},
      {bloom("bloom-1b7", 24, 2048, 16), {"bloomz-1b7"}},
      {bloom("bloom-3b", 30, 2560, 32), {"bloomz-3b"}},
      {bloom("bloom-7b1", 30, 4096, 32), {"bloomz-7b1"}},
      {bloom("bloom-176b", 70, 14336, 112), {"bloom", "bloomz"}},
      {neox("pythia-160m", 12, 768, 12, 50304)},
      {neox("pythia-410m", 24, 1024, 16, 50304)},
      {neox("pythia-1b", 16, 2048, 8, 50304)},
      {neox("pythia-1.4b", 24, 2048, 16, 50304)},
      {neox("pythia-2.8b", 32, 2560, 32, 50304)},
      {neox("pythia-6.9b", 32, 4096, 32, 50432)},
      {neox("pythia-12b", 36, 5120, 40, 50688)},
      {neox("gpt-neox-20b", 44, 6144, 64, 50432)},
      {gpt_j()},
      {falcon("falcon-7b", 32, 4544, 71, 1)},
      {falcon("falcon-40b", 60, 8192, 128, 8)},
      {falcon("falcon-180b", 80, 14848, 232, 8)},
      {starcoder2("starcoder2-3b", 30, 3072, 24, 2)},
      {starcoder2("starcoder2-7b", 32, 4608, 36, 4)},
      {untied(starcoder2("starcoder2-15b", 40, 6144, 48, 4))},
  };
}

}  // namespace ddpsim::presets
