#include "sim/compute/transformer_layers.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace ddpsim {
namespace {

const ModelLayer& layer(const Model& model, const std::string& name) {
  return *std::find_if(model.layers.begin(), model.layers.end(),
                       [&](const auto& l) { return l.name == name; });
}

class Gpt2LayersSizes : public ::testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(All, Gpt2LayersSizes, ::testing::Values(0, 1, 2, 3));

TEST_P(Gpt2LayersSizes, HasThePublishedParameters) {
  constexpr double published[] = {124'439'808, 354'823'168, 774'030'080, 1'557'611'200};
  EXPECT_EQ(transformer_layers(gpt2_presets()[GetParam()], 1024).elements(), published[GetParam()]);
}

TEST_P(Gpt2LayersSizes, GradientsArriveAsInLibTorch) {
  const auto& transformer = gpt2_presets()[GetParam()];
  auto model = transformer_layers(transformer, 1024);
  std::vector<std::string> names, expected;
  for (auto layer = model.layers.rbegin(); layer != model.layers.rend(); ++layer)
    for (const auto& tensor : layer->tensors) names.push_back(tensor.name);
  for (const auto& tensor : arrival_order(transformer_parts(transformer, 1024)))
    expected.push_back(tensor.name);
  EXPECT_EQ(names, expected);
}

// Width 1600, 48 blocks, 4096 tokens of 1024 positions: matrices 12 x 1600^2 a block and the head's
// 50257 x 1600, 1,554,971,200 elements with 2 operations a token each; attention 4 x 1600 a token and
// position.
TEST(TransformerLayers, ForwardFlops) {
  auto model = transformer_layers(transformer_named("gpt2-xl"), 1024);
  double matrices = 2.0 * 4096 * 1'554'971'200, attention = 4.0 * 1600 * 4096 * 1024 * 48;
  EXPECT_EQ(model.forward_flops({4, 1024}), Flops(matrices + attention));
  // Near the rule of thumb: twice the parameters a token, and attention.
  EXPECT_NEAR(matrices / (2 * model.elements() * 4096), 1, 0.002);
}

TEST(TransformerLayers, BackwardComputesTwiceAsMuch) {
  Flops backward;
  auto model = transformer_layers(gpt2_presets()[0], 1024);
  for (const auto& layer : model.layers) backward += layer.backward.flops({1, 8});
  EXPECT_EQ(backward, 2 * model.forward_flops({1, 8}));
}

TEST(TransformerLayers, CountsOfABlock) {
  auto model = transformer_layers(gpt2_presets()[0], 1024);  // width 768
  const auto& matrix = layer(model, "transformer.h.11.mlp.c_fc").forward;
  EXPECT_EQ(matrix.flops_per_token, 2 * 768 * 3072);
  EXPECT_EQ(matrix.values_per_token, 768 + 3072);
  EXPECT_EQ(matrix.weights, 768 * 3072);
  const auto& attention = layer(model, "transformer.h.11.attn").forward;
  EXPECT_EQ(attention.flops_per_token_and_position, 4 * 768);
  EXPECT_EQ(attention.values_per_token, 4 * 768);
  EXPECT_EQ(layer(model, "transformer.h.0.ln_1").forward.values_per_token, 2 * 768);
  EXPECT_EQ(layer(model, "transformer.h.0.mlp.gelu").forward.values_per_token, 8 * 768);
  EXPECT_EQ(layer(model, "transformer.h.0.mlp.residual").forward.values_per_token, 5 * 768);
}

// llm-foundry's MPT-7B: 2048 positions, as long as the sequence; each weight but those of lookups computes.
TEST(TransformerLayers, AnyTransformerWithoutAGate) {
  const auto& mpt = transformer_named("mpt-7b");
  auto model = transformer_layers(mpt, 2048);
  EXPECT_EQ(model.elements(), 6658859008);
  EXPECT_EQ(model.forward_flops({1, 2048}),
            Flops(2 * 2048 * mpt.multiplied_parameters() + 4.0 * 4096 * 2048 * 2048 * 32));
  EXPECT_EQ(layer(model, "transformer.wpe").backward.weights, 2048 * 4096);
}

// Llama 3 8B, 4096 wide, keys of 1024, a feed-forward layer of 14336: seven matrices a block, one attention
// after the three of its inputs, one SiLU and product after the two of the feed-forward layer, no dropout.
TEST(TransformerLayers, ATransformerWithAGate) {
  const auto& llama = transformer_named("llama-3-8b");
  auto model = transformer_layers(llama, 8192);
  EXPECT_EQ(model.elements(), 8030261248);
  EXPECT_EQ(model.forward_flops({1, 8192}),
            Flops(2 * 8192 * llama.multiplied_parameters() + 4.0 * 4096 * 8192 * 8192 * 32));
  auto count = [&](const std::string& name) {
    return std::count_if(model.layers.begin(), model.layers.end(),
                         [&](const ModelLayer& one) { return one.name == name; });
  };
  EXPECT_EQ(count("model.layers.3.self_attn"), 1);
  EXPECT_EQ(count("model.layers.3.mlp.silu"), 1);
  EXPECT_EQ(count("transformer.drop"), 0);
  EXPECT_EQ(layer(model, "model.layers.3.mlp.silu").forward.values_per_token, 5 * 14336);
  EXPECT_EQ(layer(model, "model.layers.3.mlp.residual").forward.values_per_token, 3 * 4096);
  EXPECT_EQ(layer(model, "model.layers.3.self_attn").forward.values_per_token, 2 * 4096 + 2 * 1024);
  std::vector<std::string> names, expected;
  for (auto one = model.layers.rbegin(); one != model.layers.rend(); ++one)
    for (const auto& tensor : one->tensors) names.push_back(tensor.name);
  for (const auto& tensor : arrival_order(transformer_parts(llama, 8192))) expected.push_back(tensor.name);
  EXPECT_EQ(names, expected);
}

// Llama 2 70B's heads and widths without its gate: 64 heads of 128 for 8 keys and values, and no learned
// positions.
TEST(TransformerLayers, SharedKeysAndNoPositions) {
  auto transformer = transformer_named("llama-2-70b");
  transformer.gated = false;
  auto model = transformer_layers(transformer, 4096);
  EXPECT_EQ(model.elements(), static_cast<double>(transformer.parameters(4096)));
  const auto& attention = layer(model, "transformer.h.0.attn").forward;
  EXPECT_EQ(attention.flops_per_token_and_position, 4 * 8192);
  EXPECT_EQ(attention.values_per_token, 2 * 8192 + 2 * 1024);
  EXPECT_EQ(layer(model, "transformer.h.0.mlp.gelu").forward.values_per_token, 2 * 28672);
  EXPECT_EQ(layer(model, "transformer.drop").forward.values_per_token, 2 * 8192);
  EXPECT_EQ(layer(model, "transformer.drop").forward.kernels, 1);
  EXPECT_EQ(layer(model, "transformer.wte").backward.weights, 32000 * 8192);  // no sum with the head's
  EXPECT_EQ(layer(model, "lm_head").tensors.size(), 1U);
}

// The lookup's gradient is as large as the table, 50257 x 768: written once, and then summed with the head's
// (two reads, one write). Forward reads rows only.
TEST(TransformerLayers, ATiedEmbeddingsBackward) {
  auto model = transformer_layers(gpt2_presets()[0], 1024);
  const auto& tokens = layer(model, "transformer.wte");
  EXPECT_EQ(tokens.forward.weights, 0);
  EXPECT_EQ(tokens.backward.weights, 4.0 * 50257 * 768);
  EXPECT_EQ(layer(model, "transformer.wpe").backward.weights, 1024 * 768);
  EXPECT_EQ(layer(model, "lm_head").forward.weights, 50257 * 768);
  EXPECT_TRUE(layer(model, "lm_head").tensors.empty());
}

}  // namespace
}  // namespace ddpsim
