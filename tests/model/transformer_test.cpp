#include "sim/model/transformer.hpp"

#include <algorithm>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/model/transformer_modules.hpp"

namespace ddpsim {
namespace {

using ::testing::ElementsAre;

struct Published {
  const char* name;
  std::int64_t sequence, parameters;
};

void PrintTo(const Published& one, std::ostream* out) {
  *out << one.name;
}

std::string name_of_count(const ::testing::TestParamInfo<Published>& instance) {
  auto name = std::string(instance.param.name) + "_" + std::to_string(instance.param.sequence);
  std::replace(name.begin(), name.end(), '-', '_');
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

class PublishedCounts : public ::testing::TestWithParam<Published> {};

// GPT-2: the weights published. Llama 2 and 3, Mixtral: the safetensors' metadata of the published weights.
// MPT: column NumParams of llm-foundry's benchmark tables (sim/model/transformer_presets.cpp), for that
// sequence. BERT: bert-base-uncased and bert-large-uncased as BertModel. GPT-3: 12 h^2 + 13 h a block by
// hand, "175.0B" in its table. Qwen3, gpt-oss, DeepSeek-V3, Kimi K2 and Llama 4: the safetensors' of their
// text models.
INSTANTIATE_TEST_SUITE_P(
    Models, PublishedCounts,
    ::testing::Values(
        Published{"gpt2", 1024, 124439808}, Published{"gpt2-medium", 1024, 354823168},
        Published{"gpt2-large", 1024, 774030080}, Published{"gpt2-xl", 1024, 1557611200},
        Published{"gpt3-175b", 2048, 174604259328}, Published{"llama-2-7b", 4096, 6738415616},
        Published{"llama-2-13b", 4096, 13015864320}, Published{"llama-2-70b", 4096, 68976648192},
        Published{"llama-3-8b", 8192, 8030261248}, Published{"llama-3-70b", 8192, 70553706496},
        Published{"llama-3-405b", 8192, 405853388800}, Published{"mixtral-8x7b", 4096, 46702792704},
        Published{"qwen3-30b-a3b", 4096, 30532122624}, Published{"qwen3-235b-a22b", 4096, 235093634560},
        Published{"qwen3-next-80b-a3b", 4096, 79674391296}, Published{"gpt-oss-20b", 4096, 20914757184},
        Published{"gpt-oss-120b", 4096, 116829156672}, Published{"deepseek-v3", 4096, 671026419200},
        Published{"kimi-k2", 4096, 1026408232448}, Published{"llama-4-scout", 4096, 107769861120},
        Published{"llama-4-maverick", 4096, 400711848960}, Published{"mpt-125m", 2048, 125311488},
        Published{"mpt-350m", 2048, 355985408}, Published{"mpt-760m", 2048, 760470528},
        Published{"mpt-1b", 2048, 1315950592}, Published{"mpt-3b", 2048, 2651837440},
        Published{"mpt-7b", 2048, 6658859008}, Published{"mpt-7b", 65536, 6918905856},
        Published{"mpt-13b", 2048, 12853954560}, Published{"mpt-30b", 2048, 29975214080},
        Published{"mpt-70b", 2048, 64862437376}, Published{"bert-base", 512, 109482240},
        Published{"bert-large", 512, 335141888}),
    name_of_count);

// Counted independently: the tensors of transformers 5.24's class of each model_type, made on the meta device
// from the config.json published with the weights (of RoBERTa its RobertaModel), and for GLM-4.5 the biases
// of its routers, which are buffers there. The same figure is published with the weights of BLOOM, Pythia,
// GPT-NeoX-20B, Llama 3.2, Code Llama, Mistral, Qwen2.5, Gemma 2, Phi, DeepSeek-V2 and others (safetensors'
// metadata, model cards). Where a copy of a shared matrix is stored, too, its safetensors are larger by vocab
// x hidden: Falcon, Qwen3-0.6B. By hand, Gemma 2 2B: 256000 x 2304 + 2304 + 26 blocks of 4 x 2304 + 2304 x
// (2048 + 2 x 1024 + 2048) + 3 x 2304 x 9216. GPT-J's model card has 6,053,381,344, 0.04 % more.
INSTANTIATE_TEST_SUITE_P(
    LaterModels, PublishedCounts,
    ::testing::Values(
        Published{"llama-3.2-1b", 2048, 1235814400}, Published{"llama-3.2-3b", 2048, 3212749824},
        Published{"codellama-34b", 2048, 33743970304}, Published{"codellama-7b", 2048, 6738546688},
        Published{"codellama-13b", 2048, 13016028160}, Published{"mistral-7b-v0.1", 2048, 7241732096},
        Published{"mistral-nemo-12b", 2048, 12247782400}, Published{"mistral-small-24b", 2048, 23572403200},
        Published{"mixtral-8x22b", 2048, 140620634112}, Published{"mixtral-8x22b-v0.3", 2048, 140630071296},
        Published{"qwen2.5-0.5b", 2048, 494032768}, Published{"qwen2.5-1.5b", 2048, 1543714304},
        Published{"qwen2.5-3b", 2048, 3085938688}, Published{"qwen2.5-7b", 2048, 7615616512},
        Published{"qwen2.5-14b", 2048, 14770033664}, Published{"qwen2.5-32b", 2048, 32763876352},
        Published{"qwen2.5-72b", 2048, 72706203648}, Published{"qwen3-0.6b", 2048, 596049920},
        Published{"qwen3-1.7b", 2048, 1720574976}, Published{"qwen3-4b", 2048, 4022468096},
        Published{"qwen3-8b", 2048, 8190735360}, Published{"qwen3-14b", 2048, 14768307200},
        Published{"qwen3-32b", 2048, 32762123264}, Published{"gemma-2-2b", 2048, 2614341888},
        Published{"gemma-2-9b", 2048, 9241705984}, Published{"gemma-2-27b", 2048, 27227128320},
        Published{"gemma-3-1b", 2048, 999885952}, Published{"gemma-3-4b", 2048, 3880263168},
        Published{"gemma-3-12b", 2048, 11766034176}, Published{"gemma-3-27b", 2048, 27009346304},
        Published{"phi-3-mini", 2048, 3821079552}, Published{"phi-3-medium", 2048, 13960238080},
        Published{"phi-4", 2048, 14659507200}, Published{"olmo-2-7b", 2048, 7298617344},
        Published{"olmo-2-13b", 2048, 13716198400}, Published{"olmo-2-32b", 2048, 32234279936},
        Published{"glm-4-9b", 2048, 9399951360}, Published{"glm-4.5-air", 2048, 106852251264},
        Published{"glm-4.5", 2048, 352797829024}, Published{"falcon-7b", 2048, 6921720704},
        Published{"falcon-40b", 2048, 41303293952}, Published{"falcon-180b", 2048, 178557088768},
        Published{"bloom-560m", 2048, 559214592}, Published{"bloom-1b1", 2048, 1065314304},
        Published{"bloom-1b7", 2048, 1722408960}, Published{"bloom-3b", 2048, 3002557440},
        Published{"bloom-7b1", 2048, 7069016064}, Published{"bloom-176b", 2048, 176247271424},
        Published{"opt-125m", 2048, 125239296}, Published{"opt-1.3b", 2048, 1315758080},
        Published{"opt-2.7b", 2048, 2651596800}, Published{"opt-6.7b", 2048, 6658473984},
        Published{"opt-13b", 2048, 12853473280}, Published{"opt-30b", 2048, 29974540288},
        Published{"opt-66b", 2048, 65719701504}, Published{"pythia-160m", 2048, 162322944},
        Published{"pythia-410m", 2048, 405334016}, Published{"pythia-1b", 2048, 1011781632},
        Published{"pythia-1.4b", 2048, 1414647808}, Published{"pythia-2.8b", 2048, 2775208960},
        Published{"pythia-6.9b", 2048, 6857302016}, Published{"pythia-12b", 2048, 11846072320},
        Published{"gpt-neox-20b", 2048, 20554567680}, Published{"gpt-j-6b", 2048, 6050882784},
        Published{"starcoder2-3b", 2048, 3030371328}, Published{"starcoder2-7b", 2048, 7173923840},
        Published{"starcoder2-15b", 2048, 15957889024}, Published{"deepseek-v2", 2048, 235741434880},
        Published{"deepseek-v2-lite", 2048, 15706484224}, Published{"deepseek-coder-1.3b", 2048, 1346471936},
        Published{"deepseek-coder-6.7b", 2048, 6740512768},
        Published{"deepseek-coder-33b", 2048, 33342991360}, Published{"smollm2-135m", 2048, 134515008},
        Published{"smollm2-360m", 2048, 361821120}, Published{"smollm2-1.7b", 2048, 1711376384},
        Published{"tinyllama-1.1b", 2048, 1100048384}, Published{"yi-6b", 2048, 6061035520},
        Published{"yi-9b", 2048, 8829407232}, Published{"yi-34b", 2048, 34388917248},
        Published{"roberta-base", 2048, 124645632}, Published{"roberta-large", 2048, 355359744},
        Published{"mistral-7b-v0.2", 2048, 7241732096}, Published{"mistral-7b", 2048, 7248023552},
        Published{"phi-3-mini-128k", 2048, 3821079552}, Published{"phi-3-medium-128k", 2048, 13960238080},
        Published{"glm-4-9b-0414", 2048, 9400094720}),
    name_of_count);

TEST_P(PublishedCounts, AreExact) {
  const auto* model = find_transformer(GetParam().name);
  ASSERT_TRUE(model);
  EXPECT_EQ(model->parameters(GetParam().sequence), GetParam().parameters);
}

TEST_P(PublishedCounts, AreTheSumOfTheTensors) {
  const auto* model = find_transformer(GetParam().name);
  ASSERT_TRUE(model);
  std::int64_t sum = 0;
  std::set<std::size_t> places;
  std::set<std::string> names;
  for (const auto& part : transformer_parts(*model, GetParam().sequence)) {
    sum += part.elements();
    if (part.kind == TransformerPart::Kind::block) {
      EXPECT_EQ(part.elements(), model->block_parameters(model->kind_of(part.block)));
    }
    for (const auto& module : part.modules)
      for (const auto& tensor : module.tensors) {
        EXPECT_TRUE(places.insert(tensor.parameter).second) << tensor.name;
        EXPECT_TRUE(names.insert(tensor.name).second) << tensor.name;
      }
  }
  EXPECT_EQ(sum, GetParam().parameters);
  EXPECT_EQ(*places.rbegin(), places.size() - 1);
}

TEST(Transformer, EveryPresetsCountIsHeld) {
  std::set<std::string> counted;
  const auto& suite = *::testing::UnitTest::GetInstance();
  for (int i = 0; i < suite.total_test_suite_count(); ++i)
    for (int j = 0; j < suite.GetTestSuite(i)->total_test_count(); ++j)
      if (const char* of = suite.GetTestSuite(i)->GetTestInfo(j)->value_param()) counted.insert(of);
  for (const auto& model : transformer_presets()) EXPECT_TRUE(counted.contains(model.name)) << model.name;
  EXPECT_GE(transformer_presets().size(), 100U);
}

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
