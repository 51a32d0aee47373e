// Parameters of every transformer with a name.
#include <algorithm>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/model/transformer.hpp"
#include "sim/model/transformer_modules.hpp"

namespace ddpsim {
namespace {

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
// of its routers, which are buffers there. The same figures stand in the model cards of BLOOM, Pythia and
// GPT-NeoX-20B, and in the metadata of the weights of Llama 3.2 1B, Mistral 7B, Qwen2.5 7B and Gemma 2 2B.
// Weights that keep a copy of a shared matrix are larger by vocab x hidden: Falcon's, Qwen3-0.6B's. By hand,
// Gemma 2 2B: 256000 x 2304 + 2304 + 26 blocks of 4 x 2304 + 2304 x (2048 + 2 x 1024 + 2048) + 3 x 2304 x
// 9216. GPT-J's model card has 6,053,381,344, 0.04 % more.
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

}  // namespace
}  // namespace ddpsim
