// Transformers by their sizes.
#include "sim/text/transformer_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/config/text.hpp"

namespace ddpsim::testing {
namespace {

Transformer read(const std::string& text) {
  return read_transformer(parse(text), "file");
}
std::string error_of(const std::string& text) {
  return brief_error([&] { read(text); });
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

TEST(TransformerFile, Refused) {
  EXPECT_EQ(error_of("{kind: transformer, hidden: 65, layers: 2, heads: 4, vocab: 100}"),
            "a.yaml:1:51: 65 values are not divided evenly by 4 heads; give head_dim, the width of a head");
  EXPECT_EQ(error_of("{kind: transformer, hidden: 64, layers: 2, heads: 4, kv_heads: 3, vocab: 100}"),
            "a.yaml:1:1: 4 heads cannot share 3 of keys evenly; kv_heads divides heads");
  EXPECT_EQ(error_of("{kind: transformer, hidden: 1000000, layers: 10000, heads: 4, vocab: 100}"),
            "a.yaml:1:1: the model's parameters are more than 8 PiB as float64; check the sizes");
}

TEST(TransformerFile, Experts) {
  auto model = read(
      "{kind: transformer, hidden: 64, layers: 4, heads: 4, vocab: 100, gated: true, experts: 8, top_k: 2, "
      "expert_ffn: 96, shared_experts: 1, expert_bias: true, router_bias: true, shared_gate: true}");
  EXPECT_EQ(model.experts, (Experts{.count = 8,
                                    .top_k = 2,
                                    .ffn = 96,
                                    .shared = 1,
                                    .has_bias = true,
                                    .router_bias = true,
                                    .shared_gate = true}));
  EXPECT_EQ(read(write_transformer(model)), model);
  // As wide as the model's feed-forward layer.
  EXPECT_EQ(read("{kind: transformer, hidden: 64, layers: 4, heads: 4, vocab: 100, experts: 8, top_k: 2}")
                .experts.ffn,
            256);
  const std::string sizes = "{kind: transformer, hidden: 64, layers: 4, heads: 4, vocab: 100, ";
  EXPECT_THAT(error_of(sizes + "experts: 8, top_k: 9}"),
              ::testing::HasSubstr("a token goes to 9 experts, and there are 8"));
  EXPECT_THAT(error_of(sizes + "experts: 8, top_k: 2, blocks: [{count: 4, experts: false}]}"),
              ::testing::HasSubstr("none of 4 blocks has experts"));
  EXPECT_THAT(error_of(sizes + "top_k: 2}"), ::testing::HasSubstr("'top_k' of a model without experts"));
  EXPECT_THAT(error_of(sizes + "experts: 8}"), ::testing::HasSubstr("lacks the key 'top_k'"));
}

TEST(TransformerFile, BlocksOfSeveralKinds) {
  const std::string sizes = "{kind: transformer, hidden: 64, layers: 8, heads: 4, vocab: 100, gated: true, ";
  auto model = read(sizes +
                    "window: 128, latent: {rank: 32, nope: 16, rope: 8, value: 16}, linear: {key_heads: 2, "
                    "value_heads: 4, key_dim: 8, value_dim: 8, conv: 4}, experts: 8, top_k: 2, blocks: "
                    "[{experts: false}, {count: 3, attention: linear}, {attention: window}, {attention: "
                    "window}, {count: 2, attention: full, experts: false}]}");
  using Kind = AttentionKind;
  EXPECT_EQ(model.blocks, (std::vector<BlockRun>{{{Kind::latent, false}, 1},
                                                 {{Kind::linear, true}, 3},
                                                 {{Kind::window, true}, 2},
                                                 {{Kind::full, false}, 2}}));
  EXPECT_EQ(read(write_transformer(model)), model);
  // As all blocks are without them.
  EXPECT_EQ(read(sizes + "window: 128, blocks: [{count: 8, attention: window}]}"),
            read(sizes + "window: 128}"));
  EXPECT_EQ(read(sizes + "window: 128}").kind_of(7).attention, Kind::window);
  for (auto [text, says] :
       {std::pair("blocks: [{count: 7}]}", "7 blocks, and layers is 8"),
        {"blocks: [{count: 8, attention: window}]}", "a block of attention 'window'"},
        {"blocks: [{count: 8, experts: true}]}", "a block with experts in a model without"},
        {"linear: {key_heads: 2, value_heads: 4, key_dim: 8, value_dim: 8, conv: 4}}",
         "nothing says which blocks have linear attention"},
        {"blocks: [{count: 8, attention: latent}]}", "a block of attention 'latent'"}})
    EXPECT_THAT(error_of(sizes + text), ::testing::HasSubstr(says));
}

}  // namespace
}  // namespace ddpsim::testing
