// config.json of the families that have models with a name: key facts of those published with the weights
// (huggingface.co), read as those models.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/text/hugging_face_config.hpp"

#include "tests/config/text.hpp"

namespace ddpsim::testing {
namespace {

struct PublishedConfig {
  const char* model;
  const char* text;
};

void PrintTo(const PublishedConfig& one, std::ostream* out) {
  *out << one.model;
}

// clang-format off
const PublishedConfig kPublished[] = {
  // meta-llama/Llama-3.1-8B
  {"llama-3-8b", R"({"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256, "hidden_act": "silu", "attention_bias": false, "mlp_bias": false, "pretraining_tp": 1, "tie_word_embeddings": false})"},
  // meta-llama/Llama-3.2-1B
  {"llama-3.2-1b", R"({"model_type": "llama", "hidden_size": 2048, "num_hidden_layers": 16, "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 8192, "vocab_size": 128256, "hidden_act": "silu", "attention_bias": false, "head_dim": 64, "mlp_bias": false, "tie_word_embeddings": true})"},
  // codellama/CodeLlama-34b-hf
  {"codellama-34b", R"({"model_type": "llama", "hidden_size": 8192, "num_hidden_layers": 48, "num_attention_heads": 64, "num_key_value_heads": 8, "intermediate_size": 22016, "vocab_size": 32000, "hidden_act": "silu"})"},
  // mistralai/Mistral-7B-v0.1
  {"mistral-7b-v0.1", R"({"model_type": "mistral", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 32000, "hidden_act": "silu", "sliding_window": 4096, "tie_word_embeddings": false})"},
  // mistralai/Mistral-7B-v0.3
  {"mistral-7b", R"({"model_type": "mistral", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 32768, "hidden_act": "silu", "sliding_window": null, "tie_word_embeddings": false})"},
  // mistralai/Mistral-Nemo-Base-2407
  {"mistral-nemo-12b", R"({"model_type": "mistral", "hidden_size": 5120, "num_hidden_layers": 40, "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 131072, "hidden_act": "silu", "head_dim": 128, "sliding_window": null, "tie_word_embeddings": false})"},
  // mistralai/Mixtral-8x22B-v0.1
  {"mixtral-8x22b", R"({"model_type": "mixtral", "hidden_size": 6144, "num_hidden_layers": 56, "num_attention_heads": 48, "num_key_value_heads": 8, "intermediate_size": 16384, "vocab_size": 32000, "hidden_act": "silu", "num_local_experts": 8, "num_experts_per_tok": 2, "router_aux_loss_coef": 0.001, "router_jitter_noise": 0.0, "sliding_window": null, "tie_word_embeddings": false})"},
  // Qwen/Qwen2.5-0.5B
  {"qwen2.5-0.5b", R"({"model_type": "qwen2", "hidden_size": 896, "num_hidden_layers": 24, "num_attention_heads": 14, "num_key_value_heads": 2, "intermediate_size": 4864, "vocab_size": 151936, "hidden_act": "silu", "max_window_layers": 24, "sliding_window": 32768, "tie_word_embeddings": true, "use_sliding_window": false})"},
  // Qwen/Qwen2.5-7B
  {"qwen2.5-7b", R"({"model_type": "qwen2", "hidden_size": 3584, "num_hidden_layers": 28, "num_attention_heads": 28, "num_key_value_heads": 4, "intermediate_size": 18944, "vocab_size": 152064, "hidden_act": "silu", "max_window_layers": 28, "sliding_window": 131072, "tie_word_embeddings": false, "use_sliding_window": false})"},
  // Qwen/Qwen3-0.6B
  {"qwen3-0.6b", R"({"model_type": "qwen3", "hidden_size": 1024, "num_hidden_layers": 28, "num_attention_heads": 16, "num_key_value_heads": 8, "intermediate_size": 3072, "vocab_size": 151936, "hidden_act": "silu", "attention_bias": false, "head_dim": 128, "max_window_layers": 28, "sliding_window": null, "tie_word_embeddings": true, "use_sliding_window": false})"},
  // Qwen/Qwen3-32B
  {"qwen3-32b", R"({"model_type": "qwen3", "hidden_size": 5120, "num_hidden_layers": 64, "num_attention_heads": 64, "num_key_value_heads": 8, "intermediate_size": 25600, "vocab_size": 151936, "hidden_act": "silu", "attention_bias": false, "head_dim": 128, "max_window_layers": 64, "sliding_window": null, "tie_word_embeddings": false, "use_sliding_window": false})"},
  // google/gemma-2-9b
  {"gemma-2-9b", R"({"model_type": "gemma2", "hidden_size": 3584, "num_hidden_layers": 42, "num_attention_heads": 16, "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 256000, "attention_bias": false, "attn_logit_softcapping": 50.0, "head_dim": 256, "query_pre_attn_scalar": 256, "sliding_window": 4096, "hidden_activation": "gelu_pytorch_tanh"})"},
  // google/gemma-3-1b-pt
  {"gemma-3-1b", R"({"model_type": "gemma3_text", "hidden_size": 1152, "num_hidden_layers": 26, "num_attention_heads": 4, "num_key_value_heads": 1, "intermediate_size": 6912, "vocab_size": 262144, "head_dim": 256, "query_pre_attn_scalar": 256, "sliding_window": 512, "sliding_window_pattern": 6, "hidden_activation": "gelu_pytorch_tanh"})"},
  // google/gemma-3-4b-pt, whose text_config leaves heads and vocabulary out
  {"gemma-3-4b", R"({"model_type": "gemma3", "text_config": {"hidden_size": 2560, "intermediate_size": 10240, "model_type": "gemma3_text", "num_hidden_layers": 34, "sliding_window": 1024}, "vision_config": {"hidden_size": 1152, "model_type": "siglip_vision_model"}})"},
  // microsoft/Phi-3-mini-4k-instruct
  {"phi-3-mini", R"({"model_type": "phi3", "hidden_size": 3072, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32, "intermediate_size": 8192, "vocab_size": 32064, "hidden_act": "silu", "attention_bias": false, "sliding_window": 2047, "tie_word_embeddings": false})"},
  // microsoft/phi-4
  {"phi-4", R"({"model_type": "phi3", "hidden_size": 5120, "num_hidden_layers": 40, "num_attention_heads": 40, "num_key_value_heads": 10, "intermediate_size": 17920, "vocab_size": 100352, "hidden_act": "silu", "attention_bias": false, "sliding_window": null, "tie_word_embeddings": false})"},
  // allenai/OLMo-2-1124-7B
  {"olmo-2-7b", R"({"model_type": "olmo2", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32, "intermediate_size": 11008, "vocab_size": 100352, "hidden_act": "silu", "attention_bias": false, "tie_word_embeddings": false})"},
  // THUDM/glm-4-9b-hf
  {"glm-4-9b", R"({"model_type": "glm", "hidden_size": 4096, "num_hidden_layers": 40, "num_attention_heads": 32, "num_key_value_heads": 2, "intermediate_size": 13696, "vocab_size": 151552, "hidden_act": "silu", "attention_bias": true, "head_dim": 128, "tie_word_embeddings": false})"},
  // THUDM/GLM-4-9B-0414
  {"glm-4-9b-0414", R"({"model_type": "glm4", "hidden_size": 4096, "num_hidden_layers": 40, "num_attention_heads": 32, "num_key_value_heads": 2, "intermediate_size": 13696, "vocab_size": 151552, "hidden_act": "silu", "attention_bias": false, "head_dim": 128, "partial_rotary_factor": 0.5, "tie_word_embeddings": false})"},
  // zai-org/GLM-4.5
  {"glm-4.5", R"({"model_type": "glm4_moe", "hidden_size": 5120, "num_hidden_layers": 92, "num_attention_heads": 96, "num_key_value_heads": 8, "intermediate_size": 12288, "vocab_size": 151552, "hidden_act": "silu", "attention_bias": true, "first_k_dense_replace": 3, "head_dim": 128, "moe_intermediate_size": 1536, "n_group": 1, "n_routed_experts": 160, "n_shared_experts": 1, "num_experts_per_tok": 8, "tie_word_embeddings": false, "topk_group": 1, "use_qk_norm": true})"},
  // zai-org/GLM-4.5-Air
  {"glm-4.5-air", R"({"model_type": "glm4_moe", "hidden_size": 4096, "num_hidden_layers": 46, "num_attention_heads": 96, "num_key_value_heads": 8, "intermediate_size": 10944, "vocab_size": 151552, "hidden_act": "silu", "attention_bias": true, "first_k_dense_replace": 1, "head_dim": 128, "moe_intermediate_size": 1408, "n_group": 1, "n_routed_experts": 128, "n_shared_experts": 1, "num_experts_per_tok": 8, "tie_word_embeddings": false, "topk_group": 1, "use_qk_norm": false})"},
  // tiiuae/falcon-7b
  {"falcon-7b", R"({"model_type": "falcon", "hidden_size": 4544, "num_hidden_layers": 32, "num_attention_heads": 71, "vocab_size": 65024, "alibi": false, "bias": false, "multi_query": true, "new_decoder_architecture": false, "parallel_attn": true})"},
  // tiiuae/falcon-180B
  {"falcon-180b", R"({"model_type": "falcon", "hidden_size": 14848, "num_hidden_layers": 80, "num_attention_heads": 232, "vocab_size": 65024, "alibi": false, "bias": false, "multi_query": true, "new_decoder_architecture": true, "parallel_attn": true, "num_kv_heads": 8})"},
  // bigscience/bloom
  {"bloom-176b", R"({"model_type": "bloom", "n_embed": 14336, "n_layer": 70, "num_attention_heads": 112, "n_inner": null, "vocab_size": 250880, "apply_residual_connection_post_layernorm": false, "hidden_dropout": 0.0})"},
  // facebook/opt-1.3b
  {"opt-1.3b", R"({"model_type": "opt", "hidden_size": 2048, "num_hidden_layers": 24, "num_attention_heads": 32, "ffn_dim": 8192, "activation_function": "relu", "do_layer_norm_before": true, "max_position_embeddings": 2048, "vocab_size": 50272, "word_embed_proj_dim": 2048})"},
  // EleutherAI/pythia-1.4b
  {"pythia-1.4b", R"({"model_type": "gpt_neox", "hidden_act": "gelu", "hidden_size": 2048, "intermediate_size": 8192, "max_position_embeddings": 2048, "num_attention_heads": 16, "num_hidden_layers": 24, "rotary_pct": 0.25, "tie_word_embeddings": false, "use_parallel_residual": true, "vocab_size": 50304})"},
  // EleutherAI/gpt-neox-20b
  {"gpt-neox-20b", R"({"model_type": "gpt_neox", "hidden_act": "gelu_fast", "hidden_size": 6144, "intermediate_size": 24576, "max_position_embeddings": 2048, "num_attention_heads": 64, "num_hidden_layers": 44, "rotary_pct": 0.25, "tie_word_embeddings": false, "use_parallel_residual": true, "vocab_size": 50432})"},
  // EleutherAI/gpt-j-6b
  {"gpt-j-6b", R"({"model_type": "gptj", "activation_function": "gelu_new", "n_embd": 4096, "n_head": 16, "n_inner": null, "n_layer": 28, "n_positions": 2048, "rotary": true, "rotary_dim": 64, "tie_word_embeddings": false, "vocab_size": 50400})"},
  // bigcode/starcoder2-3b
  {"starcoder2-3b", R"({"model_type": "starcoder2", "hidden_act": "gelu_pytorch_tanh", "hidden_size": 3072, "intermediate_size": 12288, "mlp_type": "default", "norm_type": "layer_norm", "num_attention_heads": 24, "num_hidden_layers": 30, "num_key_value_heads": 2, "sliding_window": 4096, "use_bias": true, "vocab_size": 49152})"},
  // bigcode/starcoder2-15b
  {"starcoder2-15b", R"({"model_type": "starcoder2", "hidden_act": "gelu_pytorch_tanh", "hidden_size": 6144, "intermediate_size": 24576, "mlp_type": "default", "norm_type": "layer_norm", "num_attention_heads": 48, "num_hidden_layers": 40, "num_key_value_heads": 4, "sliding_window": 4096, "use_bias": true, "vocab_size": 49152, "tie_word_embeddings": false})"},
  // deepseek-ai/DeepSeek-V2
  {"deepseek-v2", R"({"model_type": "deepseek_v2", "hidden_size": 5120, "num_hidden_layers": 60, "num_attention_heads": 128, "num_key_value_heads": 128, "intermediate_size": 12288, "vocab_size": 102400, "hidden_act": "silu", "attention_bias": false, "first_k_dense_replace": 1, "kv_lora_rank": 512, "moe_intermediate_size": 1536, "moe_layer_freq": 1, "n_routed_experts": 160, "n_shared_experts": 2, "num_experts_per_tok": 6, "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "scoring_func": "softmax", "tie_word_embeddings": false, "v_head_dim": 128, "topk_method": "group_limited_greedy"})"},
  // deepseek-ai/DeepSeek-V2-Lite
  {"deepseek-v2-lite", R"({"model_type": "deepseek_v2", "hidden_size": 2048, "num_hidden_layers": 27, "num_attention_heads": 16, "num_key_value_heads": 16, "intermediate_size": 10944, "vocab_size": 102400, "hidden_act": "silu", "attention_bias": false, "first_k_dense_replace": 1, "kv_lora_rank": 512, "moe_intermediate_size": 1408, "moe_layer_freq": 1, "n_routed_experts": 64, "n_shared_experts": 2, "num_experts_per_tok": 6, "q_lora_rank": null, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "scoring_func": "softmax", "tie_word_embeddings": false, "v_head_dim": 128, "topk_method": "greedy"})"},
  // google-bert/bert-base-uncased
  {"bert-base", R"({"model_type": "bert", "hidden_act": "gelu", "hidden_size": 768, "intermediate_size": 3072, "max_position_embeddings": 512, "num_attention_heads": 12, "num_hidden_layers": 12, "type_vocab_size": 2, "vocab_size": 30522})"},
  // FacebookAI/roberta-base
  {"roberta-base", R"({"model_type": "roberta", "hidden_act": "gelu", "hidden_size": 768, "intermediate_size": 3072, "max_position_embeddings": 514, "num_attention_heads": 12, "num_hidden_layers": 12, "type_vocab_size": 1, "vocab_size": 50265})"},
  // HuggingFaceTB/SmolLM2-135M
  {"smollm2-135m", R"({"model_type": "llama", "hidden_size": 576, "num_hidden_layers": 30, "num_attention_heads": 9, "num_key_value_heads": 3, "intermediate_size": 1536, "vocab_size": 49152, "hidden_act": "silu", "attention_bias": false, "mlp_bias": false, "tie_word_embeddings": true})"},
};
// clang-format on

class PublishedConfigs : public ::testing::TestWithParam<PublishedConfig> {};

INSTANTIATE_TEST_SUITE_P(Models, PublishedConfigs, ::testing::ValuesIn(kPublished), [](const auto& instance) {
  std::string name = instance.param.model;
  std::ranges::replace_if(
      name, [](char c) { return c == '-' || c == '.'; }, '_');
  return name;
});

TEST_P(PublishedConfigs, AreReadAsTheModelOfThatName) {
  auto model = read_hugging_face_config(parse(GetParam().text), GetParam().model);
  const auto& known = transformer_named(GetParam().model);
  EXPECT_EQ(model, known);
  EXPECT_EQ(model.parameters(2048), known.parameters(2048));
}

TEST_P(PublishedConfigs, NeedNoWarning) {
  auto root = parse(GetParam().text);
  for (const auto& note : hugging_face_notes(root, read_hugging_face_config(root, "a")))
    EXPECT_NE(note.code, "model-type-unknown") << note.text;
}

std::string error_with(const std::string& keys) {
  return brief_error([&] {
    read_hugging_face_config(
        parse("{hidden_size: 64, num_hidden_layers: 2, num_attention_heads: 4, vocab_size: 100, " + keys +
              "}"),
        "a");
  });
}

// OPT-350M has no final norm and narrower embeddings.
TEST(HuggingFaceModels, WhatMayChangeABlockIsRefusedByName) {
  EXPECT_THAT(error_with("model_type: opt, word_embed_proj_dim: 32"),
              ::testing::HasSubstr("'word_embed_proj_dim' may change what a block is, and is not known"));
  EXPECT_THAT(error_with("model_type: opt, do_layer_norm_before: false"),
              ::testing::HasSubstr("OPT's norms after the sum with the residual are not read"));
  EXPECT_THAT(error_with("model_type: phi, qk_layernorm: true"),
              ::testing::HasSubstr("'qk_layernorm' may change what a block is, and is not known"));
  EXPECT_THAT(error_with("model_type: qwen2, mlp_bias: true"),
              ::testing::HasSubstr("biases of query, key, value and the feed-forward layer alone"));
}

TEST(HuggingFaceModels, BiasesOfALlama) {
  auto biases_with = [](const std::string& keys) {
    return read_hugging_face_config(
               parse("{hidden_size: 64, num_hidden_layers: 2, num_attention_heads: 4, vocab_size: 100, "
                     "hidden_act: silu, model_type: llama, " +
                     keys + "}"),
               "a")
        .biases;
  };
  EXPECT_EQ(biases_with("attention_bias: false"), Biases::none);
  EXPECT_EQ(biases_with("attention_bias: true"), Biases::attention);
  EXPECT_EQ(biases_with("mlp_bias: true"), Biases::feed_forward);
  EXPECT_EQ(biases_with("attention_bias: true, mlp_bias: true"), Biases::all);
}

TEST(HuggingFaceModels, QuantizedWeightsAreNamed) {
  auto root = parse(
      "{hidden_size: 64, num_hidden_layers: 2, num_attention_heads: 4, vocab_size: 100, model_type: llama, "
      "quantization_config: {quant_method: gptq, bits: 4}}");
  auto notes = hugging_face_notes(root, read_hugging_face_config(root, "a"));
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0].code, "model-quantization-left-out");
  EXPECT_THAT(notes[0].text,
              ::testing::HasSubstr("'quantization_config' (gptq) says how weights are stored"));
}

}  // namespace
}  // namespace ddpsim::testing
