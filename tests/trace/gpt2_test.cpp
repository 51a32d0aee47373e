#include "sim/trace/gpt2.hpp"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ddpsim {
namespace {

using ::testing::ElementsAre;

std::int64_t count(const std::vector<Gpt2Tensor>& tensors) {
  std::int64_t total = 0;
  for (const auto& tensor : tensors) total += tensor.elements;
  return total;
}

std::vector<std::string> names(const std::vector<Gpt2Tensor>& tensors, std::size_t first, std::size_t n) {
  std::vector<std::string> names;
  for (std::size_t i = first; i < first + n; ++i) names.push_back(tensors.at(i).name);
  return names;
}

struct Expected {
  std::size_t size;
  std::size_t tied_tensors;
  std::int64_t tied_elements, untied_elements;
};

class Gpt2 : public ::testing::TestWithParam<Expected> {};

// Width w and L layers: embeddings (50257 + 1024) w; a block 12 w^2 + 13 w (c_attn 3w^2 + 3w, c_proj w^2 + w,
// c_fc 4w^2 + 4w, mlp.c_proj 4w^2 + w, two LayerNorms 2w each); ln_f 2w; untied once more 50257 w. gpt2:
// 51281 * 768 + 12 * (12 * 768^2 + 13 * 768) + 1536 = 39383808 + 12 * 7087872 + 1536 = 124439808. Tensors: 2
// embeddings + 12 L + 2, so 2 + 144 + 2 = 148.
INSTANTIATE_TEST_SUITE_P(AllSizes, Gpt2,
                         ::testing::Values(Expected{0, 148, 124'439'808, 163'037'184},
                                           Expected{1, 292, 354'823'168, 406'286'336},
                                           Expected{2, 436, 774'030'080, 838'359'040},
                                           Expected{3, 580, 1'557'611'200, 1'638'022'400}),
                         [](const auto& instance) {
                           std::string name(kGpt2Sizes[instance.param.size].name);
                           std::erase(name, '-');
                           return name;
                         });

TEST_P(Gpt2, CountsOfTensorsAndElements) {
  const auto& size = kGpt2Sizes[GetParam().size];
  auto tied = gpt2_registration_order(size, true);
  auto untied = gpt2_registration_order(size, false);
  EXPECT_EQ(tied.size(), GetParam().tied_tensors);
  EXPECT_EQ(untied.size(), GetParam().tied_tensors + 1);
  EXPECT_EQ(count(tied), GetParam().tied_elements);
  EXPECT_EQ(count(untied), GetParam().untied_elements);
  EXPECT_EQ(count(untied) - count(tied), kGpt2Vocabulary * size.width);
}

TEST_P(Gpt2, ArrivalIsAPermutationOfRegistrationWithUniqueNames) {
  const auto& size = kGpt2Sizes[GetParam().size];
  for (bool tied : {true, false}) {
    auto registered = gpt2_registration_order(size, tied);
    auto arrived = gpt2_arrival_order(size, tied);
    ASSERT_EQ(arrived.size(), registered.size());
    std::set<std::string> unique;
    for (std::size_t i = 0; i < registered.size(); ++i) {
      EXPECT_EQ(registered[i].parameter, i);
      EXPECT_EQ(registered.at(arrived[i].parameter).name, arrived[i].name);
      unique.insert(arrived[i].name);
    }
    EXPECT_EQ(unique.size(), registered.size());
  }
}

TEST(Gpt2Order, RegistrationFollowsTheModules) {
  auto tensors = gpt2_registration_order(kGpt2Sizes[0], false);
  EXPECT_THAT(names(tensors, 0, 14),
              ElementsAre("transformer.wte.weight", "transformer.wpe.weight", "transformer.h.0.ln_1.weight",
                          "transformer.h.0.ln_1.bias", "transformer.h.0.attn.c_attn.weight",
                          "transformer.h.0.attn.c_attn.bias", "transformer.h.0.attn.c_proj.weight",
                          "transformer.h.0.attn.c_proj.bias", "transformer.h.0.ln_2.weight",
                          "transformer.h.0.ln_2.bias", "transformer.h.0.mlp.c_fc.weight",
                          "transformer.h.0.mlp.c_fc.bias", "transformer.h.0.mlp.c_proj.weight",
                          "transformer.h.0.mlp.c_proj.bias"));
  EXPECT_THAT(names(tensors, 145, 4),
              ElementsAre("transformer.h.11.mlp.c_proj.bias", "transformer.ln_f.weight",
                          "transformer.ln_f.bias", "lm_head.weight"));
}

// As the post hooks of AccumulateGrad fired in LibTorch (gpt2.hpp): the first 14 of a tied model are ln_f and
// the last block.
TEST(Gpt2Order, ArrivalOfOneBlock) {
  auto tensors = gpt2_arrival_order(kGpt2Sizes[0], true);
  EXPECT_THAT(names(tensors, 0, 14),
              ElementsAre("transformer.ln_f.weight", "transformer.ln_f.bias",
                          "transformer.h.11.mlp.c_proj.bias", "transformer.h.11.mlp.c_proj.weight",
                          "transformer.h.11.mlp.c_fc.bias", "transformer.h.11.mlp.c_fc.weight",
                          "transformer.h.11.ln_2.weight", "transformer.h.11.ln_2.bias",
                          "transformer.h.11.attn.c_proj.bias", "transformer.h.11.attn.c_proj.weight",
                          "transformer.h.11.attn.c_attn.bias", "transformer.h.11.attn.c_attn.weight",
                          "transformer.h.11.ln_1.weight", "transformer.h.11.ln_1.bias"));
  EXPECT_THAT(names(tensors, 144, 4), ElementsAre("transformer.h.0.ln_1.weight", "transformer.h.0.ln_1.bias",
                                                  "transformer.wpe.weight", "transformer.wte.weight"));
}

TEST(Gpt2Order, AnUntiedHeadArrivesFirst) {
  auto tensors = gpt2_arrival_order(kGpt2Sizes[0], false);
  EXPECT_THAT(names(tensors, 0, 2), ElementsAre("lm_head.weight", "transformer.ln_f.weight"));
  EXPECT_EQ(tensors.front().elements, 50257 * 768);
  EXPECT_EQ(tensors.back().name, "transformer.wte.weight");
}

// w = 768: c_attn 768 * 2304, c_fc 768 * 3072; biases as wide as their outputs.
TEST(Gpt2Order, ShapesOfABlock) {
  auto tensors = gpt2_registration_order(kGpt2Sizes[0], true);
  std::vector<std::int64_t> elements;
  for (std::size_t i = 2; i < 14; ++i) elements.push_back(tensors[i].elements);
  EXPECT_THAT(elements, ElementsAre(768, 768, 1'769'472, 2304, 589'824, 768, 768, 768, 2'359'296, 3072,
                                    2'359'296, 768));
  auto layers = gpt2_layers(kGpt2Sizes[0], true);
  EXPECT_EQ(layers[2].kind, Gpt2LayerKind::block);
  EXPECT_EQ(layers[2].elements(), 7'087'872);
  EXPECT_EQ(layers.back().kind, Gpt2LayerKind::lm_head);
  EXPECT_TRUE(layers.back().modules.empty());
}

}  // namespace
}  // namespace ddpsim
