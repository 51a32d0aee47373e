#include "sim/model/transformer.hpp"

#include <algorithm>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/model/transformer_modules.hpp"

namespace ddpsim {
namespace {

using ::testing::ElementsAre;

// Other names are nobody's own, and mean models of the same sizes.
TEST(Transformer, AliasesAreUnique) {
  std::set<std::string> known;
  for (const auto& model : transformer_presets()) EXPECT_TRUE(known.insert(model.name).second) << model.name;
  for (const auto& model : transformer_presets())
    for (const auto& alias : transformer_aliases(model.name))
      EXPECT_TRUE(known.insert(alias).second) << alias;
  EXPECT_THAT(transformer_aliases("llama-3-8b"), ::testing::Contains("llama-3.1-8b"));
  EXPECT_TRUE(transformer_aliases("gpt-5").empty());
}

TEST(Transformer, NoneOfThatName) {
  EXPECT_EQ(find_transformer("gpt-5"), nullptr);
  EXPECT_EQ(find_transformer("gpt3-175b", gpt2_presets()), nullptr);
}

TEST(Transformer, Gpt2sPresets) {
  std::vector<std::string> names;
  for (const auto& model : gpt2_presets()) names.push_back(model.name);
  EXPECT_THAT(names, ElementsAre("gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl"));
}

// transformers, modeling_llama.py, LlamaDecoderLayer.__init__: self_attn, mlp, input_layernorm,
// post_attention_layernorm; the forward pass starts with the first norm.
TEST(TransformerParts, AGatedBlockRegistersItsNormsLast) {
  auto parts = transformer_parts(*find_transformer("llama-2-7b"), 4096);
  ASSERT_EQ(parts.size(), 34U);
  const auto& block = parts[1];
  ASSERT_EQ(block.modules.size(), 9U);
  EXPECT_EQ(block.modules[0].tensors[0].name, "model.layers.0.input_layernorm.weight");
  EXPECT_EQ(block.modules[0].tensors[0].parameter, 8U);
  EXPECT_EQ(block.modules[1].tensors[0].name, "model.layers.0.self_attn.q_proj.weight");
  EXPECT_EQ(block.modules[1].tensors[0].parameter, 1U);
  EXPECT_EQ(block.modules[8].tensors[0].name, "model.layers.0.mlp.down_proj.weight");
  EXPECT_EQ(block.modules[8].tensors[0].elements, 11008 * 4096);
  EXPECT_EQ(parts.back().modules.back().tensors[0].name, "lm_head.weight");
}

std::vector<std::string> names(const std::vector<ParameterTensor>& tensors, std::size_t first,
                               std::size_t n) {
  std::vector<std::string> names;
  for (std::size_t i = first; i < first + n; ++i) names.push_back(tensors.at(i).name);
  return names;
}

std::vector<TransformerPart> gpt2_parts(bool tied) {
  auto model = transformer_named("gpt2");
  model.tied = tied;
  return transformer_parts(model, 1024);
}

// Tensors: 2 embeddings, 12 a block, 2 of ln_f, the head.
TEST(TensorOrders, RegistrationFollowsTheModules) {
  auto tensors = registration_order(gpt2_parts(/*tied=*/false));
  ASSERT_EQ(tensors.size(), 149U);
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
  // w = 768: c_attn 768 * 2304, c_fc 768 * 3072; biases as wide as their outputs.
  std::vector<std::int64_t> elements;
  for (std::size_t i = 2; i < 14; ++i) elements.push_back(tensors[i].elements);
  EXPECT_THAT(elements, ElementsAre(768, 768, 1'769'472, 2304, 589'824, 768, 768, 768, 2'359'296, 3072,
                                    2'359'296, 768));
}

// As the post hooks of AccumulateGrad fired in LibTorch (transformer_modules.hpp): the first 14 of a tied
// model are ln_f and the last block.
TEST(TensorOrders, ArrivalOfOneBlock) {
  auto tensors = arrival_order(gpt2_parts(/*tied=*/true));
  ASSERT_EQ(tensors.size(), 148U);
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

TEST(TensorOrders, AnUntiedHeadArrivesFirst) {
  auto tensors = arrival_order(gpt2_parts(/*tied=*/false));
  EXPECT_THAT(names(tensors, 0, 2), ElementsAre("lm_head.weight", "transformer.ln_f.weight"));
  EXPECT_EQ(tensors.front().elements, 50257 * 768);
  EXPECT_EQ(tensors.back().name, "transformer.wte.weight");
}

TEST(TransformerParts, ATiedHeadHasNoTensors) {
  auto parts = transformer_parts(*find_transformer("gpt2"), 1024);
  const auto& head = parts.back().modules.back();
  EXPECT_EQ(head.role, ModuleRole::head);
  EXPECT_TRUE(head.tensors.empty());
  EXPECT_EQ(head.outputs, 50257);
}

// Groups of query heads share a key and a value (Ainslie et al., "GQA"): 8 of 64 heads of 128 make 1024
// columns.
TEST(TransformerParts, GroupedQueries) {
  auto parts = transformer_parts(*find_transformer("llama-2-70b"), 4096);
  EXPECT_EQ(parts[1].modules[2].outputs, 1024);
  EXPECT_EQ(parts[1].modules[1].outputs, 8192);
}

// Shapes of a model share its parts; a position embedding as long as the sequence is another one for each.
TEST(KnownParts, AreMadeOncePerModel) {
  KnownParts known;
  const auto& llama = transformer_named("llama-2-7b");
  auto parts = known.of(llama, 2048);
  EXPECT_EQ(known.of(llama, 4096), parts);
  auto narrower = llama;
  narrower.hidden = 2048;
  EXPECT_NE(known.of(narrower, 4096), parts);
  EXPECT_EQ(known.of(llama, 1024), parts);
  EXPECT_EQ(parts->size(), 34U);
  auto grows = llama;
  grows.positions = Transformer::kAsLongAsTheSequence;
  auto long_one = known.of(grows, 4096);
  EXPECT_NE(known.of(grows, 2048), long_one);
  EXPECT_EQ(long_one->front().modules[1].elements(), 4096 * 4096);
}

void expect_modules_are_parameters(const Transformer& model) {
  auto parts = transformer_parts(model, 32);
  std::int64_t all = 0;
  std::set<std::string> names;
  for (const auto& part : parts) {
    all += part.elements();
    if (part.kind == TransformerPart::Kind::block) {
      EXPECT_EQ(part.elements(), model.block_parameters(model.kind_of(part.block))) << part.block;
    }
    for (const auto& module : part.modules)
      for (const auto& tensor : module.tensors) EXPECT_TRUE(names.insert(tensor.name).second) << tensor.name;
  }
  EXPECT_EQ(all, model.parameters(32));
}

// Of 2 blocks of width 64, with a gate and without: 2 norms are 128 numbers, 4 are 256, one is 64.
TEST(Transformer, NormsAndBiasesOfABlock) {
  Transformer model{.name = "a",
                    .hidden = 64,
                    .layers = 2,
                    .heads = 4,
                    .kv_heads = 2,
                    .head_dim = 16,
                    .ffn = 128,
                    .vocab = 100};
  for (bool is_gated : {false, true})
    for (auto biases : {Biases::none, Biases::qkv, Biases::attention, Biases::feed_forward, Biases::all})
      for (auto [name, norms] : kBlockNormsNames)
        for (auto head_norms : {HeadNorms::none, HeadNorms::each, HeadNorms::all}) {
          model.gated = is_gated;
          model.biases = biases;
          model.norms = norms;
          model.head_norms = head_norms;
          expect_modules_are_parameters(model);
        }
  model.gated = true;
  model.biases = Biases::none;
  auto block_with = [&](BlockNorms norms, HeadNorms of_heads, Biases biases) {
    model.norms = norms;
    model.head_norms = of_heads;
    model.biases = biases;
    return model.block_parameters({});
  };
  auto matrices = 64 * (64 + 32 + 32 + 64) + 3 * 64 * 128;
  EXPECT_EQ(block_with(BlockNorms::before, HeadNorms::none, Biases::none), matrices + 128);
  EXPECT_EQ(block_with(BlockNorms::after, HeadNorms::all, Biases::none), matrices + 128 + 64 + 32);
  EXPECT_EQ(block_with(BlockNorms::both, HeadNorms::each, Biases::none), matrices + 256 + 32);
  EXPECT_EQ(block_with(BlockNorms::one, HeadNorms::none, Biases::feed_forward), matrices + 64 + 256 + 64);
  model.norm_bias = true;
  EXPECT_EQ(block_with(BlockNorms::one, HeadNorms::none, Biases::none), matrices + 128);
}

// In forward order; modeling_gemma2.py and modeling_olmo2.py name them.
TEST(TransformerParts, NormsStandWhereTheModelHasThem) {
  auto norms_of = [](const char* name) {
    std::vector<std::string> order;
    auto parts = transformer_parts(transformer_named(name), 1);
    for (const auto& module : parts[1].modules)
      if (module.role == ModuleRole::norm || module.role == ModuleRole::attention_output ||
          module.role == ModuleRole::feed_forward_out)
        order.push_back(module.tensors.back().name.str().substr(std::string("model.layers.0.").size()));
    return order;
  };
  EXPECT_THAT(norms_of("gemma-2-2b"),
              ElementsAre("input_layernorm.weight", "self_attn.o_proj.weight",
                          "post_attention_layernorm.weight", "pre_feedforward_layernorm.weight",
                          "mlp.down_proj.weight", "post_feedforward_layernorm.weight"));
  EXPECT_THAT(norms_of("olmo-2-7b"),
              ElementsAre("self_attn.o_proj.weight", "post_attention_layernorm.weight",
                          "mlp.down_proj.weight", "post_feedforward_layernorm.weight"));
}

// Names, sizes and count of every kind of block agree; a window changes no parameter.
TEST(Transformer, ModulesOfEachKindOfBlockAreItsParameters) {
  Transformer model{.name = "mixed",
                    .hidden = 64,
                    .layers = 8,
                    .heads = 4,
                    .kv_heads = 2,
                    .head_dim = 16,
                    .ffn = 128,
                    .vocab = 100,
                    .gated = true,
                    .tied = false,
                    .biases = Biases::attention,
                    .experts = {4, 2, 32, 1, true, true, true},
                    .window = 8,
                    .latent = {24, 16, 12, 4, 8},
                    .linear = {2, 4, 8, 8, 4},
                    .head_norms = HeadNorms::each,
                    .query_gate = true,
                    .sinks = true};
  for (auto [name, kind] : kAttentionKindNames)
    for (bool has_experts : {false, true}) model.blocks.push_back({{kind, has_experts}, 1});
  expect_modules_are_parameters(model);
  EXPECT_EQ(model.block_parameters({AttentionKind::full, true}),
            model.block_parameters({AttentionKind::window, true}));
  // Latent by hand: 64 x 24 + 24 + 24 x 4 x 16, 64 x 20 + 16 + 16 x 4 x 20, 32 x 64, two norms, 3 x 64 x 128.
  EXPECT_EQ(model.block_parameters({AttentionKind::latent, false}),
            64 * 24 + 24 + 24 * 64 + 64 * 20 + 16 + 16 * 80 + 32 * 64 + 128 + 3 * 64 * 128);
}

// Full: 2 s (64 + 64); a window of 8 meets 8 of 32 and 8 - 64/64 = 7 in the mean; a state costs the same at
// any length.
TEST(Transformer, OperationsOfAttention) {
  Transformer model{.name = "a",
                    .hidden = 64,
                    .layers = 1,
                    .heads = 4,
                    .kv_heads = 4,
                    .head_dim = 16,
                    .window = 8,
                    .latent = {0, 16, 12, 4, 8},
                    .linear = {2, 4, 8, 8, 4}};
  using Kind = AttentionKind;
  EXPECT_EQ(model.attention_operations(Kind::full, 32), 2 * 32 * 128);
  EXPECT_EQ(model.unmasked(Kind::full, 32), 0.5);
  EXPECT_EQ(model.attention_operations(Kind::window, 32), 2 * 8 * 128);
  EXPECT_DOUBLE_EQ(8 * model.unmasked(Kind::window, 32), 7);
  EXPECT_EQ(model.unmasked(Kind::window, 8), 0.5);
  EXPECT_EQ(model.attention_operations(Kind::window, 4), model.attention_operations(Kind::full, 4));
  EXPECT_EQ(model.attention_operations(Kind::latent, 32), 2 * 32 * (4 * 16 + 4 * 8));
  EXPECT_EQ(model.attention_operations(Kind::linear, 32), model.attention_operations(Kind::linear, 1024));
  EXPECT_EQ(model.attention_operations(Kind::linear, 32), 4 * 4 * 64 + 2 * 64 * 4 * (16 + 8));
}

}  // namespace
}  // namespace ddpsim
