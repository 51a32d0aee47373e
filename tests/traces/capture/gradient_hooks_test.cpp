#include "traces/capture/gradient_hooks.hpp"

#include "traces/torch_gpt2/gpt2_model.hpp"
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "sim/model/transformer_modules.hpp"

namespace ddpsim {
namespace {

std::vector<std::size_t> arrivals(const std::vector<at::Tensor>& parameters,
                                  const std::function<at::Tensor()>& loss) {
  std::vector<std::size_t> order;
  GradientHooks hooks(parameters, [&](std::size_t parameter) { order.push_back(parameter); });
  loss().backward();
  return order;
}

// z = sum(b * (a * x)): the product with b is the later one, so its gradient comes first.
TEST(GradientHooks, TellOfGradientsAsTheyComeBack) {
  auto a = torch::ones({3}).requires_grad_(), b = torch::ones({3}).requires_grad_();
  EXPECT_EQ(arrivals({a, b}, [&] { return (b * (a * 2)).sum(); }), (std::vector<std::size_t>{1, 0}));
}

// d/da sum(a * (b * a)) = 2 when b is 1: complete only after both uses.
TEST(GradientHooks, TellOnceOfAParameterUsedTwiceAndAfterBothUses) {
  auto a = torch::ones({3}).requires_grad_(), b = torch::ones({3}).requires_grad_();
  std::vector<double> seen;
  GradientHooks hooks({a}, [&](std::size_t) { seen.push_back(a.grad().sum().item<double>()); });
  (a * (b * a)).sum().backward();
  EXPECT_EQ(seen, std::vector<double>{6});
}

TEST(GradientHooks, AreGoneWithTheObject) {
  auto a = torch::ones({3}).requires_grad_();
  int calls = 0;
  {
    GradientHooks hooks({a}, [&](std::size_t) { ++calls; });
    a.sum().backward();
  }
  a.sum().backward();
  EXPECT_EQ(calls, 1);
}

// The order that sim/model/transformer_modules.hpp states, and the importers of tables rely on: the tied
// embedding last.
TEST(GradientHooks, Gpt2sGradientsArriveInTheOrderOfTheTable) {
  Transformer size{.name = "small",
                   .hidden = 64,
                   .layers = 3,
                   .heads = 1,
                   .kv_heads = 1,
                   .head_dim = 64,
                   .ffn = 256,
                   .vocab = 97,
                   .positions = 32};
  Gpt2LMHead model(size, 0.1);
  auto tokens = torch::randint(size.vocab, {1, 8}, torch::kInt64);
  auto order = arrivals(model->parameters(), [&] { return model(tokens, tokens); });
  std::vector<std::string> names, expected;
  auto named = model->named_parameters();
  for (auto parameter : order) names.push_back(named[parameter].key());
  for (const auto& tensor : arrival_order(transformer_parts(size, size.positions)))
    expected.push_back(tensor.name);
  EXPECT_EQ(names, expected);
}

}  // namespace
}  // namespace ddpsim
