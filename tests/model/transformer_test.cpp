#include "sim/model/transformer.hpp"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

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

class PublishedCounts : public ::testing::TestWithParam<Published> {};

// GPT-2: the weights published. Llama 2 and 3: the safetensors' metadata of the published weights. MPT:
// column NumParams of llm-foundry's benchmark tables (sim/model/transformer_presets.cpp), for that sequence.
// BERT: bert-base-uncased and bert-large-uncased as BertModel. GPT-3: 12 h^2 + 13 h a block by hand, "175.0B"
// in its table.
INSTANTIATE_TEST_SUITE_P(
    Models, PublishedCounts,
    ::testing::Values(Published{"gpt2", 1024, 124439808}, Published{"gpt2-medium", 1024, 354823168},
                      Published{"gpt2-large", 1024, 774030080}, Published{"gpt2-xl", 1024, 1557611200},
                      Published{"gpt3-175b", 2048, 174604259328}, Published{"llama-2-7b", 4096, 6738415616},
                      Published{"llama-2-13b", 4096, 13015864320},
                      Published{"llama-2-70b", 4096, 68976648192}, Published{"llama-3-8b", 8192, 8030261248},
                      Published{"llama-3-70b", 8192, 70553706496},
                      Published{"llama-3-405b", 8192, 405853388800}, Published{"mpt-125m", 2048, 125311488},
                      Published{"mpt-350m", 2048, 355985408}, Published{"mpt-760m", 2048, 760470528},
                      Published{"mpt-1b", 2048, 1315950592}, Published{"mpt-3b", 2048, 2651837440},
                      Published{"mpt-7b", 2048, 6658859008}, Published{"mpt-7b", 65536, 6918905856},
                      Published{"mpt-13b", 2048, 12853954560}, Published{"mpt-30b", 2048, 29975214080},
                      Published{"mpt-70b", 2048, 64862437376}, Published{"bert-base", 512, 109482240},
                      Published{"bert-large", 512, 335141888}),
    [](const auto& instance) {
      auto name = std::string(instance.param.name) + "_" + std::to_string(instance.param.sequence);
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

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
      EXPECT_EQ(part.elements(), model->block_parameters());
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

TEST(Transformer, NoneOfThatName) {
  EXPECT_EQ(find_transformer("gpt-5"), nullptr);
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

}  // namespace
}  // namespace ddpsim
