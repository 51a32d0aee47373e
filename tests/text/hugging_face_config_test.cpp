// config.json as published.
#include "sim/text/hugging_face_config.hpp"

#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/config/text.hpp"

namespace ddpsim::testing {
namespace {

Transformer read_config(const std::string& text) {
  auto root = parse(text);
  EXPECT_TRUE(is_hugging_face_config(root));
  return read_hugging_face_config(root, "file");
}
std::string config_error_of(const std::string& text) {
  return brief_error([&] { read_config(text); });
}

// huggingface.co/openai-community/gpt2; 124,439,808 parameters by its safetensors.
TEST(HuggingFaceConfig, Gpt2) {
  auto model = read_config(R"({
  "activation_function": "gelu_new",
  "architectures": ["GPT2LMHeadModel"],
  "attn_pdrop": 0.1,
  "bos_token_id": 50256,
  "embd_pdrop": 0.1,
  "eos_token_id": 50256,
  "initializer_range": 0.02,
  "layer_norm_epsilon": 1e-05,
  "model_type": "gpt2",
  "n_ctx": 1024,
  "n_embd": 768,
  "n_head": 12,
  "n_layer": 12,
  "n_positions": 1024,
  "resid_pdrop": 0.1,
  "task_specific_params": {"text-generation": {"do_sample": true, "max_length": 50}},
  "vocab_size": 50257
})");
  auto expected = transformer_named("gpt2");
  expected.name = "file";
  EXPECT_EQ(model, expected);
  EXPECT_EQ(model.parameters(1024), 124'439'808);
}

// huggingface.co/meta-llama/Llama-2-7b-hf; 6,738,415,616 parameters by its safetensors.
TEST(HuggingFaceConfig, Llama2) {
  auto model = read_config(R"({
  "_name_or_path": "meta-llama/Llama-2-7b-hf",
  "architectures": ["LlamaForCausalLM"],
  "hidden_act": "silu",
  "hidden_size": 4096,
  "intermediate_size": 11008,
  "max_position_embeddings": 4096,
  "model_type": "llama",
  "num_attention_heads": 32,
  "num_hidden_layers": 32,
  "num_key_value_heads": 32,
  "rms_norm_eps": 1e-05,
  "rope_scaling": null,
  "tie_word_embeddings": false,
  "torch_dtype": "float16",
  "vocab_size": 32000
})");
  auto expected = transformer_named("llama-2-7b");
  expected.name = "meta-llama/Llama-2-7b-hf";
  EXPECT_EQ(model, expected);
  EXPECT_EQ(model.parameters(4096), 6'738'415'616);
}

// huggingface.co/mosaicml/mpt-7b: no biases, ALiBi in place of learned positions. 6,649,286,656 parameters:
// 50432 x 4096 + 32 (12 x 4096^2 + 2 x 4096) + 4096. The preset mpt-7b is the one of the benchmark.
TEST(HuggingFaceConfig, Mpt) {
  auto model = read_config(R"({
  "architectures": ["MPTForCausalLM"],
  "attn_config": {"alibi": true, "alibi_bias_max": 8, "attn_impl": "torch", "attn_pdrop": 0, "prefix_lm": false},
  "d_model": 4096,
  "emb_pdrop": 0,
  "expansion_ratio": 4,
  "learned_pos_emb": true,
  "max_seq_len": 2048,
  "model_type": "mpt",
  "n_heads": 32,
  "n_layers": 32,
  "no_bias": true,
  "norm_type": "low_precision_layernorm",
  "vocab_size": 50432
})");
  EXPECT_EQ(model.parameters(2048), 6'649'286'656);
  EXPECT_EQ(model.biases, Biases::none);
  EXPECT_EQ(model.positions, 0);
  EXPECT_FALSE(model.gated);
}

// huggingface.co/Qwen/Qwen2-7B; 7,615,616,512 parameters by its safetensors: biases of query, key and value,
// which its config.json does not mention.
TEST(HuggingFaceConfig, Qwen2) {
  auto model = read_config(R"({
  "architectures": ["Qwen2ForCausalLM"],
  "hidden_act": "silu",
  "hidden_size": 3584,
  "intermediate_size": 18944,
  "max_position_embeddings": 131072,
  "model_type": "qwen2",
  "num_attention_heads": 28,
  "num_hidden_layers": 28,
  "num_key_value_heads": 4,
  "sliding_window": 131072,
  "tie_word_embeddings": false,
  "use_sliding_window": false,
  "vocab_size": 152064
})");
  EXPECT_EQ(model.biases, Biases::qkv);
  EXPECT_EQ(model.parameters(4096), 7'615'616'512);
}

// A head wider than hidden / heads, as in Gemma 7B: 8,537,680,896 parameters by its safetensors.
TEST(HuggingFaceConfig, AHeadOfItsOwnWidth) {
  auto model = read_config(R"({
  "head_dim": 256, "hidden_act": "gelu", "hidden_size": 3072, "intermediate_size": 24576, "model_type": "gemma",
  "num_attention_heads": 16, "num_hidden_layers": 28, "num_key_value_heads": 16, "vocab_size": 256000
})");
  EXPECT_EQ(model.head_dim, 256);
  EXPECT_TRUE(model.gated);
  EXPECT_EQ(model.parameters(8192), 8'537'680'896);
}

TEST(HuggingFaceConfig, BertLooksBothWays) {
  auto model = read_config(R"({
  "hidden_act": "gelu", "hidden_size": 768, "intermediate_size": 3072, "max_position_embeddings": 512,
  "model_type": "bert", "num_attention_heads": 12, "num_hidden_layers": 12, "vocab_size": 30522
})");
  EXPECT_FALSE(model.causal);
  EXPECT_EQ(model.positions, 512);
  EXPECT_EQ(model.biases, Biases::all);
}

// Of a type that nobody checked: read, and said how.
TEST(HuggingFaceConfig, AnotherModelTypeIsSaidToBe) {
  auto note_of = [](const std::string& type) {
    auto root = parse(R"({
  "hidden_act": "silu", "hidden_size": 3072, "intermediate_size": 8192, "max_position_embeddings": 4096,
  "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 32, "tie_word_embeddings": false,
  "vocab_size": 32064)" +
                      type + "}");
    auto notes = hugging_face_notes(root, read_hugging_face_config(root, "a"));
    return notes.empty() ? std::nullopt : std::optional(notes.back());
  };
  auto note = note_of(", \"model_type\": \"stablelm\"");
  ASSERT_TRUE(note);
  EXPECT_EQ(note->code, "model-type-unknown");
  EXPECT_EQ(
      note->text,
      "model_type 'stablelm' is none whose parameters were checked (gpt2, bert, roberta, mpt, opt, bloom, "
      "gpt_neox, gptj, falcon, starcoder2, llama, mistral, mixtral, qwen2, qwen2_moe, qwen3, qwen3_moe, "
      "qwen3_next, gemma, gemma2, gemma3_text, phi3, olmo2, glm, glm4, glm4_moe, deepseek, deepseek_v2, "
      "deepseek_v3, kimi_k2, llama4_text, gpt_oss): it is read as 32 blocks of width 3072, 32 heads of 96 "
      "(32 of keys), a feed-forward layer of "
      "8192 with a gate, a "
      "vocabulary of 32064 and a head of its own, no learned positions, no biases, causal attention. That is "
      "3.821e+09 parameters: compare with the published count, and give the sizes as kind: transformer where "
      "it differs");
  EXPECT_TRUE(note_of("")->text.starts_with("a config.json without model_type is none"));
  EXPECT_FALSE(note_of(", \"model_type\": \"llama\""));
}

// 46,702,792,704 parameters by Mixtral's safetensors.
TEST(HuggingFaceConfig, Mixtral) {
  auto model = read_config(R"({
  "hidden_act": "silu", "hidden_size": 4096, "intermediate_size": 14336, "model_type": "mixtral",
  "num_attention_heads": 32, "num_experts_per_tok": 2, "num_hidden_layers": 32, "num_key_value_heads": 8,
  "num_local_experts": 8, "tie_word_embeddings": false, "vocab_size": 32000
})");
  model.name = "mixtral-8x7b";
  EXPECT_EQ(model, transformer_named("mixtral-8x7b"));
}

// 14,315,784,192 parameters by Qwen1.5-MoE-A2.7B's safetensors: a shared expert of 4 widths, with a gate.
TEST(HuggingFaceConfig, Qwen2sExperts) {
  auto model = read_config(R"({
  "decoder_sparse_step": 1, "hidden_act": "silu", "hidden_size": 2048, "intermediate_size": 5632,
  "model_type": "qwen2_moe", "moe_intermediate_size": 1408, "num_attention_heads": 16, "num_experts": 60,
  "num_experts_per_tok": 4, "num_hidden_layers": 24, "num_key_value_heads": 16,
  "shared_expert_intermediate_size": 5632, "tie_word_embeddings": false, "vocab_size": 151936
})");
  EXPECT_EQ(model.experts, (Experts{.count = 60, .top_k = 4, .ffn = 1408, .shared = 4, .shared_gate = true}));
  EXPECT_EQ(model.parameters(4096), 14'315'784'192);
}

// 30,532,122,624 parameters by Qwen3-30B-A3B's safetensors; "A3B": 3.35e9 are active.
TEST(HuggingFaceConfig, Qwen3sExperts) {
  auto model = read_config(R"({
  "attention_bias": false, "decoder_sparse_step": 1, "head_dim": 128, "hidden_act": "silu", "hidden_size": 2048,
  "intermediate_size": 6144, "mlp_only_layers": [], "model_type": "qwen3_moe", "moe_intermediate_size": 768,
  "num_attention_heads": 32, "num_experts": 128, "num_experts_per_tok": 8, "num_hidden_layers": 48,
  "num_key_value_heads": 4, "tie_word_embeddings": false, "vocab_size": 151936
})");
  EXPECT_EQ(model.parameters(4096), 30'532'122'624);
  // 128 - 8 idle experts of 3 matrices in each block.
  EXPECT_EQ(model.active_parameters(4096), 30'532'122'624 - 48LL * 120 * 3 * 2048 * 768);
}

// 16,375,728,128 parameters by deepseek-moe-16b-base's safetensors: the first block has no experts.
TEST(HuggingFaceConfig, DeepSeeksExperts) {
  auto model = read_config(R"({
  "attention_bias": false, "first_k_dense_replace": 1, "hidden_act": "silu", "hidden_size": 2048,
  "intermediate_size": 10944, "model_type": "deepseek", "moe_intermediate_size": 1408, "moe_layer_freq": 1,
  "n_routed_experts": 64, "n_shared_experts": 2, "num_attention_heads": 16, "num_experts_per_tok": 6,
  "num_hidden_layers": 28, "num_key_value_heads": 16, "tie_word_embeddings": false, "vocab_size": 102400
})");
  EXPECT_EQ(model.experts, (Experts{.count = 64, .top_k = 6, .ffn = 1408, .shared = 2}));
  EXPECT_EQ(model.blocks,
            (std::vector<BlockRun>{{{AttentionKind::full, false}, 1}, {{AttentionKind::full, true}, 27}}));
  EXPECT_EQ(model.parameters(4096), 16'375'728'128);
}

// A name that tells of sizes is never left out; what changes nothing of a block is.
TEST(HuggingFaceConfig, AKeyThatMayMatterIsRefusedByName) {
  const std::string sizes =
      "{hidden_size: 64, num_hidden_layers: 4, num_attention_heads: 4, vocab_size: 100, model_type: llama, ";
  for (const char* key :
       {"mamba_d_state: 128", "attn_layer_period: 8", "moe_latent_size: 16", "num_memory_heads: 2"})
    EXPECT_THAT(config_error_of(sizes + key + "}"),
                ::testing::HasSubstr("may change what a block is, and is not known"));
  for (const char* key : {"mamba_d_state: null", "moe_latent_size: 0", "router_z_loss_coef: 0.001",
                          "flash: true", "num_labels: 3", "rope_scaling: {factor: 2}", "hidden_dropout: 0.1"})
    EXPECT_EQ(read_config(sizes + key + "}").layers, 4) << key;
}

TEST(HuggingFaceConfig, ExpertsThatAreNotReadAreRefused) {
  const std::string sizes =
      "{hidden_size: 64, num_hidden_layers: 4, num_attention_heads: 4, vocab_size: 100, num_experts: 8, "
      "num_experts_per_tok: 2, ";
  EXPECT_THAT(config_error_of(sizes + "moe_intermediate_size: 48, shared_expert_intermediate_size: 64}"),
              ::testing::HasSubstr("a shared expert of 64 columns is not as wide as whole ones of 48"));
  EXPECT_THAT(config_error_of("{d_model: 64, ffn_config: {moe_num_experts: 4}}"),
              ::testing::HasSubstr("a mixture of experts that is not read"));
}

TEST(HuggingFaceConfig, Refused) {
  EXPECT_EQ(config_error_of("{d_model: 512, is_encoder_decoder: true, num_layers: 6}"),
            "a.yaml:1:36-39: an encoder and a decoder are no stack of equal blocks; only one of either is "
            "modelled: give its sizes as kind: transformer");
  EXPECT_EQ(config_error_of("{hidden_size: 4096, num_attention_heads: 32}"),
            "a.yaml:1:1: none of num_hidden_layers, n_layer, n_layers is there; a config.json of a "
            "transformer has one of them; kind: transformer has keys of its own");
  EXPECT_EQ(config_error_of("{hidden_size: 4096, num_hidden_layers: many}"),
            "a.yaml:1:40-43: 'many' is not a whole number; write a whole number from 1 to 10000");
  EXPECT_EQ(
      config_error_of("{hidden_size: 4097, num_hidden_layers: 2, num_attention_heads: 32, vocab_size: 100}"),
      "a.yaml:1:64-65: 4097 values are not divided evenly by 32 heads; give its sizes as kind: transformer, "
      "with head_dim");
}

TEST(HuggingFaceConfig, IsToldByItsKeys) {
  EXPECT_FALSE(is_hugging_face_config(parse("{kind: transformer, hidden_size: 64}")));
  EXPECT_FALSE(is_hugging_face_config(parse("{name: x, layers: 2}")));
  EXPECT_TRUE(is_hugging_face_config(parse("{d_model: 64}")));
}

}  // namespace
}  // namespace ddpsim::testing
