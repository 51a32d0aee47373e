// Names of models as people write them.
#include "sim/text/model_names.hpp"

#include <gtest/gtest.h>

#include "sim/text/presets.hpp"

namespace ddpsim::testing {
namespace {

struct Written {
  const char *written, *name;  // null: nobody's
};

void PrintTo(const Written& one, std::ostream* out) {
  *out << one.written;
}

class ModelNames : public ::testing::TestWithParam<Written> {};

INSTANTIATE_TEST_SUITE_P(
    AsPeopleWriteThem, ModelNames,
    ::testing::Values(
        Written{"llama-3-8b", "llama-3-8b"}, Written{"llama-3.1-8b", "llama-3-8b"},
        Written{"Llama-3.1-8B", "llama-3-8b"}, Written{"meta-llama/Llama-3.1-8B", "llama-3-8b"},
        Written{"meta-llama/Meta-Llama-3-8B-Instruct", "llama-3-8b"},
        Written{"meta-llama/Llama-3.3-70B-Instruct", "llama-3-70b"},
        Written{"meta-llama/Llama-3.2-1B", "llama-3.2-1b"}, Written{"llama_3_2_1b", "llama-3.2-1b"},
        Written{"meta-llama/Llama-2-7b-chat-hf", "llama-2-7b"},
        Written{"codellama/CodeLlama-34b-Instruct-hf", "codellama-34b"},
        Written{"Qwen/Qwen3-30B-A3B", "qwen3-30b-a3b"},
        Written{"Qwen/Qwen3-30B-A3B-Instruct-2507", "qwen3-30b-a3b"},
        Written{"Qwen/Qwen3-4B-Thinking-2507", "qwen3-4b"}, Written{"qwen2.5-7b", "qwen2.5-7b"},
        Written{"Qwen2.5-7B-Instruct", "qwen2.5-7b"}, Written{"Qwen/Qwen2.5-Coder-7B-Instruct", "qwen2.5-7b"},
        Written{"mistralai/Mistral-7B-v0.3", "mistral-7b"}, Written{"mistral-7b", "mistral-7b"},
        Written{"mistralai/Mistral-7B-Instruct-v0.2", "mistral-7b-v0.2"},
        Written{"mistralai/Mistral-7B-v0.1", "mistral-7b-v0.1"},
        Written{"mistralai/Mixtral-8x7B-v0.1", "mixtral-8x7b"},
        Written{"mistralai/Mixtral-8x22B-Instruct-v0.1", "mixtral-8x22b-v0.3"},
        Written{"mistralai/Mistral-Nemo-Instruct-2407", "mistral-nemo-12b"},
        Written{"openai-community/gpt2-xl", "gpt2-xl"}, Written{"google/gemma-2-9b-it", "gemma-2-9b"},
        Written{"google/gemma-3-27b-pt", "gemma-3-27b"}, Written{"EleutherAI/gpt-neox-20b", "gpt-neox-20b"},
        Written{"EleutherAI/pythia-1.4b-deduped", "pythia-1.4b"},
        Written{"google-bert/bert-base-uncased", "bert-base"}, Written{"bert-base-qa", "bert-base-qa"},
        Written{"microsoft/Phi-3-mini-4k-instruct", "phi-3-mini"},
        Written{"microsoft/Phi-3-mini-128k-instruct", "phi-3-mini-128k"},
        Written{"deepseek-ai/DeepSeek-R1", "deepseek-v3"},
        Written{"deepseek-ai/DeepSeek-V3-0324", "deepseek-v3"},
        Written{"deepseek-ai/DeepSeek-V2-Lite-Chat", "deepseek-v2-lite"},
        Written{"allenai/OLMo-2-1124-7B-Instruct", "olmo-2-7b"},
        Written{"TinyLlama/TinyLlama-1.1B-Chat-v1.0", "tinyllama-1.1b"},
        Written{"moonshotai/Kimi-K2-Instruct-0905", "kimi-k2"}, Written{"bigscience/bloom", "bloom-176b"},
        Written{"zai-org/GLM-4.5-Air-Base", "glm-4.5-air"}, Written{"ResNet50", "resnet50"},
        // Others' sizes, paths, and nothing at all.
        Written{"llama-3-9b", nullptr}, Written{"bert", nullptr}, Written{"microsoft/phi-4-mini", nullptr},
        Written{"deepseek-v4", nullptr}, Written{"instruct", nullptr}, Written{"", nullptr},
        Written{"/", nullptr}, Written{"data/models/gpt2", nullptr}, Written{"-instruct", nullptr}),
    [](const auto& instance) { return "n" + std::to_string(instance.index); });

TEST_P(ModelNames, MeanTheirModel) {
  auto meant = preset_meant_by(PresetKind::models, GetParam().written);
  EXPECT_EQ(meant, GetParam().name ? std::optional<std::string>(GetParam().name) : std::nullopt);
}

// Every name and alias means its own model, in capitals and with an owner, too.
TEST(ModelNames, EachMeansItself) {
  for (const auto& name : preset_names(PresetKind::models)) {
    auto expect_own = [&](const std::string& written) {
      EXPECT_EQ(preset_meant_by(PresetKind::models, written), name) << written;
    };
    expect_own(name);
    for (const auto& alias : transformer_aliases(name)) {
      expect_own(alias);
      expect_own("someone/" + alias + "-Instruct");
    }
  }
}

TEST(ModelNames, TheClosestAcrossDotsAndDashes) {
  auto names = preset_names(PresetKind::models);
  EXPECT_EQ(did_you_mean_model("llama3.1-8b", names), "; did you mean 'llama-3.1-8b'?");
  EXPECT_EQ(did_you_mean_model("qwen3_30b", names), "; did you mean 'qwen3-30b-a3b'?");
  EXPECT_EQ(did_you_mean_model("meta-llama/Lama-3.2-1B-Instruct", names), "; did you mean 'llama-3.2-1b'?");
  EXPECT_EQ(did_you_mean_model("something-else-entirely", names), "");
}

TEST(ModelNames, FamiliesThatAreSomethingElse) {
  EXPECT_EQ(
      why_not_modelled("google/flan-t5-xl"),
      "'t5' is an encoder and a decoder, not one stack of attention blocks: give it as a list of layers "
      "(kind: model)");
  EXPECT_TRUE(why_not_modelled("state-spaces/mamba-2.8b"));
  EXPECT_FALSE(why_not_modelled("llama-9"));
}

TEST(ModelNames, OthersAreWrittenAsTheyAre) {
  EXPECT_EQ(preset_meant_by(PresetKind::gpus, "h100-sxm"), "h100-sxm");
  EXPECT_EQ(preset_meant_by(PresetKind::gpus, "H100-SXM"), std::nullopt);
}

}  // namespace
}  // namespace ddpsim::testing
