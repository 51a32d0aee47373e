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

// A Phi-3 mini's: read, and said how, for nobody checked its parameters. 3.8e9 are published.
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
  auto note = note_of(", \"model_type\": \"phi3\"");
  ASSERT_TRUE(note);
  EXPECT_EQ(note->code, "model-type-unknown");
  EXPECT_EQ(
      note->text,
      "model_type 'phi3' is none whose parameters were checked (gpt2, llama, mpt, qwen2, gemma, "
      "mixtral, qwen2_moe, qwen3_moe, qwen3_next, deepseek, deepseek_v3, kimi_k2, llama4_text, gpt_oss, "
      "falcon): it is read as 32 blocks of width 3072, 32 heads of 96 (32 of keys), a feed-forward layer of "
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

// Blocks of several kinds. Parameters by the files that are published with the weights.
std::string deepseek_v3(const std::string& more) {
  return R"({
  "architectures": ["DeepseekV3ForCausalLM"], "attention_bias": false, "attention_dropout": 0.0, "aux_loss_alpha": 0.001,
  "ep_size": 1, "hidden_act": "silu", "hidden_size": 7168, "initializer_range": 0.02, "intermediate_size": 18432,
  "kv_lora_rank": 512, "max_position_embeddings": 163840, "moe_intermediate_size": 2048, "moe_layer_freq": 1,
  "n_group": 8, "n_shared_experts": 1, "norm_topk_prob": true, "num_experts_per_tok": 8, "num_hidden_layers": 61,
  "pretraining_tp": 1, "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "rms_norm_eps": 1e-06,
  "rope_scaling": {"beta_fast": 32, "factor": 40, "type": "yarn"}, "routed_scaling_factor": 2.5,
  "scoring_func": "sigmoid", "seq_aux": true, "tie_word_embeddings": false, "topk_group": 4,
  "topk_method": "noaux_tc", "torch_dtype": "bfloat16", "use_cache": true, "v_head_dim": 128, )" +
         more + "}";
}
std::string llama4(const std::string& more) {
  return R"({
  "attention_bias": false, "attention_chunk_size": 8192, "head_dim": 128, "hidden_act": "silu", "hidden_size": 5120,
  "intermediate_size": 8192, "intermediate_size_mlp": 16384, "max_position_embeddings": 10485760,
  "model_type": "llama4_text", "num_attention_heads": 40, "num_experts_per_tok": 1, "num_hidden_layers": 48,
  "num_key_value_heads": 8, "tie_word_embeddings": false, "use_qk_norm": true, "vocab_size": 202048, )" +
         more + "}";
}

TEST(HuggingFaceConfig, LatentAttention) {
  auto model = read_config(deepseek_v3(
      R"("first_k_dense_replace": 3, "model_type": "deepseek_v3", "n_routed_experts": 256, "num_attention_heads": 128,
         "num_key_value_heads": 128, "num_nextn_predict_layers": 1, "vocab_size": 129280)"));
  EXPECT_EQ(model.parameters(4096), 671'026'419'200);
  EXPECT_EQ(model.active_parameters(4096), 37'552'297'472);
  EXPECT_EQ(model.latent, (LatentAttention{1536, 512, 128, 64, 128}));
  EXPECT_EQ(model.blocks, (std::vector<BlockRun>{{{AttentionKind::latent, false}, 3},
                                                 {{AttentionKind::latent, true}, 58}}));
  // Moonshot's Kimi K2 is shaped alike.
  auto kimi = read_config(deepseek_v3(
      R"("first_k_dense_replace": 1, "model_type": "kimi_k2", "num_routed_experts": 384, "num_attention_heads": 64,
         "num_key_value_heads": 64, "num_nextn_predict_layers": 0, "vocab_size": 163840)"));
  EXPECT_EQ(kimi.parameters(4096), 1'026'408'232'448);
}

// A block more of the last kind, a projection of 2 x 7168 to 7168 and three norms: 11.61e9 parameters.
TEST(HuggingFaceConfig, WhatIsLeftOutIsSaid) {
  auto root = parse(deepseek_v3(
      R"("first_k_dense_replace": 3, "model_type": "deepseek_v3", "n_routed_experts": 256, "num_attention_heads": 128,
         "num_nextn_predict_layers": 1, "vocab_size": 129280)"));
  auto notes = hugging_face_notes(root, read_hugging_face_config(root, "a"));
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0].code, "model-prediction-left-out");
  EXPECT_THAT(notes[0].text, ::testing::HasSubstr("(MTP, 1.161e+10 parameters)"));
}

// A model of text in a wrapper with a tower of pictures.
TEST(HuggingFaceConfig, TheTextModelOfAWrapper) {
  auto root =
      parse(R"({"model_type": "llama4", "vision_config": {"hidden_size": 1408, "num_hidden_layers": 34},
    "text_config": )" +
            llama4(R"("interleave_moe_layer_step": 1, "num_local_experts": 16)") + "}");
  auto model = read_hugging_face_config(root, "a");
  EXPECT_EQ(model.parameters(4096), 107'769'861'120);
  EXPECT_EQ(model.active_parameters(4096), 17'172'894'720);
  auto notes = hugging_face_notes(root, model);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_THAT(notes[0].text, ::testing::HasSubstr("vision_config is left out"));
}

// Llama 4 Maverick: 24 of 48 blocks have experts; three of four attend within 8,192 tokens.
TEST(HuggingFaceConfig, BlocksThatAlternate) {
  auto model = read_config(llama4(R"("interleave_moe_layer_step": 2, "num_local_experts": 128)"));
  EXPECT_EQ(model.parameters(4096), 400'711'848'960);
  EXPECT_EQ(model.active_parameters(4096), 17'184'691'200);
  EXPECT_EQ(model.blocks_with_experts(), 24);
  EXPECT_EQ(model.kind_of(0), (BlockKind{AttentionKind::window, false}));
  EXPECT_EQ(model.kind_of(1), (BlockKind{AttentionKind::window, true}));
  EXPECT_EQ(model.kind_of(3), (BlockKind{AttentionKind::full, true}));
}

// Qwen3-Next 80B-A3B: three of four blocks have a state in place of scores.
TEST(HuggingFaceConfig, LinearAttention) {
  auto model = read_config(R"({
  "decoder_sparse_step": 1, "full_attention_interval": 4, "head_dim": 256, "hidden_act": "silu", "hidden_size": 2048,
  "intermediate_size": 5120, "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128, "linear_num_key_heads": 16,
  "linear_num_value_heads": 32, "linear_value_head_dim": 128, "mlp_only_layers": [], "model_type": "qwen3_next",
  "moe_intermediate_size": 512, "num_attention_heads": 16, "num_experts": 512, "num_experts_per_tok": 10,
  "num_hidden_layers": 48, "num_key_value_heads": 2, "shared_expert_intermediate_size": 512,
  "tie_word_embeddings": false, "vocab_size": 151936
})");
  EXPECT_EQ(model.parameters(4096), 79'674'391'296);
  EXPECT_EQ(model.active_parameters(4096), 3'874'929'408);
  std::int64_t linear = 0;
  for (const auto& run : model.kinds())
    if (run.kind.attention == AttentionKind::linear) linear += run.count;
  EXPECT_EQ(linear, 36);
}

// gpt-oss 20B: sinks, biases everywhere but in norms, windows of 128 tokens in every other block.
TEST(HuggingFaceConfig, WindowsAndSinks) {
  auto model = read_config(R"({
  "attention_bias": true, "head_dim": 64, "hidden_act": "silu", "hidden_size": 2880, "intermediate_size": 2880,
  "model_type": "gpt_oss", "num_attention_heads": 64, "num_experts_per_tok": 4, "num_hidden_layers": 24,
  "num_key_value_heads": 8, "num_local_experts": 32, "router_aux_loss_coef": 0.9, "sliding_window": 128,
  "swiglu_limit": 7.0, "tie_word_embeddings": false, "vocab_size": 201088
})");
  EXPECT_EQ(model.parameters(4096), 20'914'757'184);
  EXPECT_EQ(model.window, 128);
  EXPECT_EQ(model.kind_of(0).attention, AttentionKind::window);
  EXPECT_EQ(model.kind_of(1).attention, AttentionKind::full);
}

// Falcon 40B: 8 heads of keys, norms with biases where nothing else has one. 41.30e9 are published.
TEST(HuggingFaceConfig, Falcon) {
  auto model = read_config(R"({
  "alibi": false, "bias": false, "hidden_size": 8192, "model_type": "falcon", "multi_query": true,
  "new_decoder_architecture": true, "num_attention_heads": 128, "num_hidden_layers": 60, "num_kv_heads": 8,
  "parallel_attn": true, "vocab_size": 65024
})");
  EXPECT_EQ(model.kv_heads, 8);
  EXPECT_NEAR(static_cast<double>(model.parameters(2048)), 41.30e9, 0.01e9);
}

TEST(HuggingFaceConfig, OtherKindsOfModelsAreNamed) {
  EXPECT_THAT(
      config_error_of("{model_type: mamba2, hidden_size: 1536, num_hidden_layers: 48, vocab_size: 50288}"),
      ::testing::HasSubstr("'mamba2' is a state-space model, not one stack of attention blocks"));
  EXPECT_THAT(config_error_of(
                  "{model_type: clip, text_config: {hidden_size: 768}, vision_config: {hidden_size: 1024}}"),
              ::testing::HasSubstr("'clip' is two towers"));
}

// DeepSeek counts every so-many-th block from 0, behind the first dense ones: with 2 blocks 2 and 4 of 6.
TEST(HuggingFaceConfig, WhichBlocksHaveExperts) {
  const std::string sizes =
      "{hidden_size: 64, num_hidden_layers: 6, num_attention_heads: 4, vocab_size: 100, num_experts: 8, "
      "num_experts_per_tok: 2, ";
  auto with_experts = [&](const std::string& more) {
    auto model = read_config(sizes + more + "}");
    std::string all;
    for (int block = 0; block < 6; ++block) all += model.kind_of(block).has_experts ? 'x' : '-';
    return all;
  };
  EXPECT_EQ(with_experts("moe_layer_freq: 2, first_k_dense_replace: 1"), "--x-x-");
  EXPECT_EQ(with_experts("decoder_sparse_step: 2"), "-x-x-x");
  EXPECT_EQ(with_experts("decoder_sparse_step: 2, mlp_only_layers: [3]"), "-x---x");
  EXPECT_EQ(with_experts("moe_layer_freq: [0, 1, 1, 0, 1, 0]"), "-xx-x-");
  EXPECT_EQ(with_experts("moe_layers: [0, 5]"), "x----x");
  EXPECT_THAT(config_error_of(sizes + "moe_layer_freq: [1, 0]}"),
              ::testing::HasSubstr("a list of 2 for 6 blocks"));
  EXPECT_THAT(config_error_of(sizes + "mlp_only_layers: 3}"), ::testing::HasSubstr("expected a list"));
}

TEST(HuggingFaceConfig, WhichBlocksHaveWindows) {
  const std::string sizes =
      "{hidden_size: 64, num_hidden_layers: 6, num_attention_heads: 4, vocab_size: 100, ";
  auto attention = [&](const std::string& more) {
    auto model = read_config(sizes + more + "}");
    std::string all;
    for (int block = 0; block < 6; ++block)
      all += name_in(kAttentionKindNames, model.kind_of(block).attention).front();
    return all;
  };
  EXPECT_EQ(attention("model_type: mistral, sliding_window: 16"), "wwwwww");
  EXPECT_EQ(attention("model_type: mistral, sliding_window: null"), "ffffff");
  EXPECT_EQ(attention("model_type: qwen2, sliding_window: 16"), "ffffff");
  EXPECT_EQ(
      attention("model_type: qwen2, sliding_window: 16, use_sliding_window: true, max_window_layers: 4"),
      "ffffww");
  EXPECT_EQ(attention("model_type: gemma3_text, sliding_window: 16"), "wwwwwf");
  EXPECT_EQ(attention("model_type: gemma3_text, sliding_window: 16, sliding_window_pattern: 2"), "wfwfwf");
  const std::string types =
      "layer_types: [sliding_attention, full_attention, full_attention, full_attention, full_attention, "
      "sliding_attention]";
  EXPECT_EQ(attention("sliding_window: 16, " + types), "wffffw");
  EXPECT_EQ(attention("sliding_window: 16, use_sliding_window: false, " + types), "ffffff");
  EXPECT_THAT(config_error_of(sizes + types + "}"),
              ::testing::HasSubstr("a window of how many tokens is not said"));
  EXPECT_THAT(config_error_of(sizes + "layer_types: [full_attention]}"),
              ::testing::HasSubstr("a list of 1 for 6 blocks"));
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
