#include "traces/torch_gpt2/gpt2_model.hpp"

#include <cmath>

#include "traces/torch_gpt2/autocast.hpp"
#include <gtest/gtest.h>

#include "sim/model/transformer_modules.hpp"

namespace ddpsim {
namespace {

using torch::Tensor;

Transformer small() {
  return {.name = "small",
          .hidden = 128,
          .layers = 2,
          .heads = 2,
          .kv_heads = 2,
          .head_dim = 64,
          .ffn = 512,
          .vocab = 97,
          .positions = 32};
}

// Two samples of 16 tokens: 0, stride, 2 stride, ... + offset, modulo the vocabulary.
Tensor tokens(int stride, int offset) {
  return torch::arange(32, torch::kInt64).mul(stride).add(offset).remainder(97).reshape({2, 16});
}

// Element i of parameter k is 0.1 sin(0.7 i + k).
void fill(Gpt2LMHead& model) {
  torch::NoGradGuard no_gradients;
  int k = 0;
  for (auto& parameter : model->parameters()) {
    auto i = torch::arange(parameter.numel(), torch::kFloat64);
    parameter.copy_((0.1 * torch::sin(0.7 * i + k++)).reshape(parameter.sizes()));
  }
}

// Radford et al. 2019, table 2, at its true width and with one layer: the rest of the layers are alike.
class PublishedSizes : public ::testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(All, PublishedSizes, ::testing::Range(std::size_t{0}, gpt2_presets().size()));

void expect_tensors(const Gpt2LMHead& model, const Transformer& size) {
  auto expected = registration_order(transformer_parts(size, size.positions));
  auto parameters = model->named_parameters();
  ASSERT_EQ(parameters.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(parameters[i].key(), expected[i].name);
    EXPECT_EQ(parameters[i].value().numel(), expected[i].elements) << expected[i].name;
  }
}

TEST_P(PublishedSizes, HaveTheTensorsOfTheTableAtTheirWidth) {
  auto size = gpt2_presets()[GetParam()];
  size.layers = 1;
  Gpt2LMHead model(size, 0);
  expect_tensors(model, size);
  // (inputs, outputs), as published, and not the other way round.
  auto width = size.hidden;
  auto named = model->named_parameters();
  EXPECT_EQ(named["transformer.wte.weight"].sizes(), (std::vector<std::int64_t>{50257, width}));
  EXPECT_EQ(named["transformer.h.0.attn.c_attn.weight"].sizes(),
            (std::vector<std::int64_t>{width, 3 * width}));
  EXPECT_EQ(named["transformer.h.0.mlp.c_proj.weight"].sizes(),
            (std::vector<std::int64_t>{4 * width, width}));
}

TEST_P(PublishedSizes, HaveAllTheirLayers) {
  auto size = gpt2_presets()[GetParam()];
  size.hidden = size.head_dim = 64;
  size.heads = size.kv_heads = 1;
  size.ffn = 256;
  expect_tensors(Gpt2LMHead(size, 0), size);
}

// The same weights in GPT2LMHeadModel of transformers 5.23.0 with PyTorch 2.15.0 (GPT2Config n_layer=2,
// n_embd=128, n_head=2, vocab_size=97, n_positions=32, no dropout), cross-entropy of its logits.
TEST(Gpt2Model, AgreesWithTheCommonPyTorchGpt2) {
  Gpt2LMHead model(small(), 0);
  fill(model);
  auto loss = model(tokens(31, 0), tokens(17, 5));
  loss.backward();
  EXPECT_NEAR(loss.item<double>(), 4.668132, 2e-6);
  auto norm = [&](const char* name) { return model->named_parameters()[name].grad().norm().item<double>(); };
  EXPECT_NEAR(norm("transformer.wte.weight"), 0.176579, 2e-6);
  EXPECT_NEAR(norm("transformer.wpe.weight"), 0.029038, 2e-6);
  EXPECT_NEAR(norm("transformer.h.0.attn.c_attn.weight"), 0.003247, 2e-6);
  EXPECT_NEAR(norm("transformer.h.1.mlp.c_proj.bias"), 0.033598, 2e-6);
  EXPECT_NEAR(norm("transformer.ln_f.weight"), 0.163842, 2e-6);
}

TEST(Gpt2Model, NeverLooksAtLaterTokens) {
  Gpt2Model model(small(), 0);
  auto before = tokens(31, 0), after = before.clone();
  after.slice(1, 9).fill_(1);
  auto one = model(before), other = model(after);
  EXPECT_TRUE(torch::allclose(one.slice(1, 0, 9), other.slice(1, 0, 9), 0, 1e-6));
  EXPECT_FALSE(torch::allclose(one.slice(1, 9), other.slice(1, 9), 0, 1e-2));
}

TEST(Gpt2Model, StartsWithNoPreferenceAndLearns) {
  torch::manual_seed(1);
  Gpt2LMHead model(small(), 0.1);
  torch::optim::AdamW optimizer(model->parameters(), torch::optim::AdamWOptions(1e-3));
  double first = 0, last = 0;
  for (int step = 0; step < 30; ++step) {
    auto loss = model(tokens(31, 0), tokens(31, 31));
    if (step == 0) first = loss.item<double>();
    last = loss.item<double>();
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
  }
  EXPECT_NEAR(first, std::log(97.0), 0.2);
  EXPECT_LT(last, first / 2);
}

TEST(Gpt2Model, DropoutOnlyWhileItTrains) {
  torch::manual_seed(1);
  Gpt2LMHead model(small(), 0.5);
  auto loss = [&] { return model(tokens(31, 0), tokens(17, 5)).item<double>(); };
  EXPECT_NE(loss(), loss());
  model->eval();
  EXPECT_EQ(loss(), loss());
}

TEST(Bfloat16Autocast, RoundsProductsAndKeepsGradientsInFloat32) {
  Gpt2LMHead model(small(), 0);
  fill(model);
  double exact = model(tokens(31, 0), tokens(17, 5)).item<double>();
  {
    Bfloat16Autocast autocast(torch::kCPU);
    auto loss = model(tokens(31, 0), tokens(17, 5));
    EXPECT_NE(loss.item<double>(), exact);
    EXPECT_NEAR(loss.item<double>(), exact, 0.01);
    loss.backward();
    EXPECT_EQ(torch::matmul(torch::ones({2, 2}), torch::ones({2, 2})).scalar_type(), torch::kBFloat16);
  }
  EXPECT_EQ(torch::matmul(torch::ones({2, 2}), torch::ones({2, 2})).scalar_type(), torch::kFloat32);
  for (const auto& parameter : model->parameters())
    EXPECT_EQ(parameter.grad().scalar_type(), torch::kFloat32);
}

// Each module that has parameters once, in forward order.
TEST(Gpt2Model, TellsWhenAModuleIsOver) {
  auto size = small();
  size.layers = 1;
  Gpt2LMHead model(size, 0);
  std::vector<std::string> names;
  model(tokens(3, 1), tokens(5, 2), [&](const torch::nn::Module& module) {
    for (const auto& named : model->named_modules())
      if (named.value().get() == &module) names.push_back(named.key());
  });
  EXPECT_EQ(names, (std::vector<std::string>{"transformer.wte", "transformer.wpe", "transformer.h.0.ln_1",
                                             "transformer.h.0.attn.c_attn", "transformer.h.0.attn.c_proj",
                                             "transformer.h.0.ln_2", "transformer.h.0.mlp.c_fc",
                                             "transformer.h.0.mlp.c_proj", "transformer.ln_f"}));
}

}  // namespace
}  // namespace ddpsim
