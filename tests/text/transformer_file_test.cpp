// Transformers by their sizes, and config.json as published.
#include "sim/text/transformer_file.hpp"

#include <gtest/gtest.h>

#include "tests/config/text.hpp"

namespace ddpsim::testing {
namespace {

Transformer read(const std::string& text) {
  return read_transformer(parse(text), "file");
}
Transformer read_config(const std::string& text) {
  auto root = parse(text);
  EXPECT_TRUE(is_hugging_face_config(root));
  return read_hugging_face_config(root, "file");
}
std::string error_of(const std::string& text) {
  return input_error([&] { read(text); });
}
std::string config_error_of(const std::string& text) {
  return input_error([&] { read_config(text); });
}

TEST(TransformerFile, EveryKey) {
  EXPECT_EQ(read("kind: transformer\n"
                 "name: mine\n"
                 "hidden: 2048\n"
                 "layers: 3\n"
                 "heads: 16\n"
                 "kv_heads: 4\n"
                 "head_dim: 96\n"
                 "ffn: 5000\n"
                 "gated: true\n"
                 "vocab: 1000\n"
                 "tied: false\n"
                 "positions: 512\n"
                 "bias: qkv\n"
                 "causal: false\n"
                 "extra_parameters: 7\n"),
            (Transformer{.name = "mine",
                         .hidden = 2048,
                         .layers = 3,
                         .heads = 16,
                         .kv_heads = 4,
                         .head_dim = 96,
                         .ffn = 5000,
                         .vocab = 1000,
                         .positions = 512,
                         .gated = true,
                         .tied = false,
                         .biases = Biases::qkv,
                         .causal = false,
                         .extra_parameters = 7}));
}

TEST(TransformerFile, Defaults) {
  EXPECT_EQ(read("{kind: transformer, hidden: 64, layers: 2, heads: 4, vocab: 100}"),
            (Transformer{.name = "file",
                         .hidden = 64,
                         .layers = 2,
                         .heads = 4,
                         .kv_heads = 4,
                         .head_dim = 16,
                         .ffn = 256,
                         .vocab = 100}));
  // With a gate there are no biases.
  EXPECT_EQ(read("{kind: transformer, hidden: 64, layers: 2, heads: 4, vocab: 100, gated: true}").biases,
            Biases::none);
  EXPECT_EQ(
      read("{kind: transformer, hidden: 64, layers: 2, heads: 4, vocab: 100, positions: sequence}").positions,
      Transformer::kAsLongAsTheSequence);
}

TEST(TransformerFile, AMisspeltKey) {
  EXPECT_EQ(error_of("{kind: transformer, hidden: 64, layers: 2, heads: 4, vocab: 100, kv_head: 2}"),
            "a.yaml:1:66: error: unknown key 'kv_head'; did you mean 'kv_heads'?\n"
            "  1 | {kind: transformer, hidden: 64, layers: 2, heads: 4, vocab: 100, kv_head: 2}\n"
            "    |                                                                  ^~~~~~~\n"
            "hint: 'model' knows kind, name, hidden, layers, heads, kv_heads, head_dim, ffn, gated, vocab, "
            "tied, positions, bias, causal, extra_parameters");
}

TEST(TransformerFile, WithoutItsSize) {
  EXPECT_EQ(error_of("{kind: transformer, layers: 2, heads: 4, vocab: 100}"),
            "a.yaml:1:1: error: 'model' lacks the key 'hidden'\n"
            "  1 | {kind: transformer, layers: 2, heads: 4, vocab: 100}\n"
            "    | ^\n"
            "hint: add 'hidden: ...'");
}

TEST(TransformerFile, AnotherWordForBias) {
  EXPECT_EQ(error_of("{kind: transformer, hidden: 64, layers: 2, heads: 4, vocab: 100, bias: some}"),
            "a.yaml:1:72: error: unknown value 'some'\n"
            "  1 | {kind: transformer, hidden: 64, layers: 2, heads: 4, vocab: 100, bias: some}\n"
            "    |                                                                        ^~~~\n"
            "hint: one of true, false, qkv");
}

TEST(TransformerFile, HeadsThatDoNotDivide) {
  EXPECT_EQ(error_of("{kind: transformer, hidden: 65, layers: 2, heads: 4, vocab: 100}"),
            "a.yaml:1:51: error: 65 values are not divided evenly by 4 heads\n"
            "  1 | {kind: transformer, hidden: 65, layers: 2, heads: 4, vocab: 100}\n"
            "    |                                                   ^\n"
            "hint: give head_dim, the width of a head");
  EXPECT_EQ(error_of("{kind: transformer, hidden: 64, layers: 2, heads: 4, kv_heads: 3, vocab: 100}"),
            "a.yaml:1:1: error: 4 heads cannot share 3 of keys evenly\n"
            "  1 | {kind: transformer, hidden: 64, layers: 2, heads: 4, kv_heads: 3, vocab: 100}\n"
            "    | ^\n"
            "hint: kv_heads divides heads");
}

TEST(TransformerFile, MoreThanThereIs) {
  EXPECT_EQ(error_of("{kind: transformer, hidden: 1000000, layers: 10000, heads: 4, vocab: 100}"),
            "a.yaml:1:1: error: the model's parameters are more than 8 PiB as float64\n"
            "  1 | {kind: transformer, hidden: 1000000, layers: 10000, heads: 4, vocab: 100}\n"
            "    | ^\n"
            "hint: check the sizes");
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
    return hugging_face_note(root, read_hugging_face_config(root, "a"));
  };
  auto note = note_of(", \"model_type\": \"phi3\"");
  ASSERT_TRUE(note);
  EXPECT_EQ(note->code, "model-type-unknown");
  EXPECT_EQ(
      note->text,
      "model_type 'phi3' is none whose parameters were checked (gpt2, llama, mpt, qwen2, gemma): it is read "
      "as 32 blocks of width 3072, 32 heads of 96 (32 of keys), a feed-forward layer of 8192 with a gate, a "
      "vocabulary of 32064 and a head of its own, no learned positions, no biases, causal attention. That is "
      "3.821e+09 parameters: compare with the published count, and give the sizes as kind: transformer where "
      "it differs");
  EXPECT_TRUE(note_of("")->text.starts_with("a config.json without model_type is none"));
  EXPECT_FALSE(note_of(", \"model_type\": \"llama\""));
}

TEST(HuggingFaceConfig, AMixtureOfExpertsIsRefused) {
  EXPECT_EQ(config_error_of("{hidden_size: 4096, num_hidden_layers: 32, num_local_experts: 8}"),
            "a.yaml:1:63: error: a mixture of experts is no dense transformer\n"
            "  1 | {hidden_size: 4096, num_hidden_layers: 32, num_local_experts: 8}\n"
            "    |                                                               ^\n"
            "hint: only dense ones are modelled");
  EXPECT_EQ(config_error_of("{hidden_size: 4096, n_routed_experts: 64}"),
            "a.yaml:1:39: error: a mixture of experts is no dense transformer\n"
            "  1 | {hidden_size: 4096, n_routed_experts: 64}\n"
            "    |                                       ^~\n"
            "hint: only dense ones are modelled");
}

TEST(HuggingFaceConfig, AnEncoderWithADecoderIsRefused) {
  EXPECT_EQ(config_error_of("{d_model: 512, is_encoder_decoder: true, num_layers: 6}"),
            "a.yaml:1:36: error: an encoder and a decoder are no stack of equal blocks\n"
            "  1 | {d_model: 512, is_encoder_decoder: true, num_layers: 6}\n"
            "    |                                    ^~~~\n"
            "hint: only one of either is modelled: give its sizes as kind: transformer");
}

TEST(HuggingFaceConfig, WithoutASize) {
  EXPECT_EQ(config_error_of("{hidden_size: 4096, num_attention_heads: 32}"),
            "a.yaml:1:1: error: none of num_hidden_layers, n_layer, n_layers is there\n"
            "  1 | {hidden_size: 4096, num_attention_heads: 32}\n"
            "    | ^\n"
            "hint: a config.json of a transformer has one of them; kind: transformer has keys of its own");
}

TEST(HuggingFaceConfig, ASizeThatIsNone) {
  EXPECT_EQ(config_error_of("{hidden_size: 4096, num_hidden_layers: many}"),
            "a.yaml:1:40: error: 'many' is not a whole number\n"
            "  1 | {hidden_size: 4096, num_hidden_layers: many}\n"
            "    |                                        ^~~~\n"
            "hint: write a whole number from 1 to 10000");
}

TEST(HuggingFaceConfig, HeadsThatDoNotDivide) {
  EXPECT_EQ(
      config_error_of("{hidden_size: 4097, num_hidden_layers: 2, num_attention_heads: 32, vocab_size: 100}"),
      "a.yaml:1:64: error: 4097 values are not divided evenly by 32 heads\n"
      "  1 | {hidden_size: 4097, num_hidden_layers: 2, num_attention_heads: 32, vocab_size: 100}\n"
      "    |                                                                ^~\n"
      "hint: give its sizes as kind: transformer, with head_dim");
}

TEST(HuggingFaceConfig, IsToldByItsKeys) {
  EXPECT_FALSE(is_hugging_face_config(parse("{kind: transformer, hidden_size: 64}")));
  EXPECT_FALSE(is_hugging_face_config(parse("{name: x, layers: 2}")));
  EXPECT_TRUE(is_hugging_face_config(parse("{d_model: 64}")));
}

}  // namespace
}  // namespace ddpsim::testing
