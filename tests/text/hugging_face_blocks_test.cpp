// config.json of models whose blocks are of several kinds.
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/text/hugging_face_config.hpp"

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

}  // namespace
}  // namespace ddpsim::testing
