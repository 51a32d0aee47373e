#include "sim/text/presets.hpp"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/config/reader.hpp"

#include "tests/config/text.hpp"
#include "tests/support/scoped_environment.hpp"
#include "tests/support/temporary_folder.hpp"

namespace ddpsim::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsSupersetOf;

std::optional<std::string> file_of(PresetKind kind, const std::string& word) {
  auto value = parse("a: " + word).find("a")->value;
  return preset_file(kind, {config::as_string(value), value.span});
}
std::string error_of(PresetKind kind, const std::string& word) {
  return brief_error([&] { file_of(kind, word); });
}

TEST(Presets, HaveTheNamesOfTheirFiles) {
  const std::string root = DDPSIM_SOURCE_DIR;
  EXPECT_EQ(find_preset(PresetKind::gpus, "h100-sxm"), root + "/gpus/h100-sxm.yaml");
  EXPECT_EQ(find_preset(PresetKind::topologies, "superpod-h100"), root + "/topologies/superpod-h100.yaml");
  EXPECT_EQ(find_preset(PresetKind::software, "te-2025"), root + "/software/te-2025.yaml");
  EXPECT_EQ(find_preset(PresetKind::models, "resnet50"), root + "/models/resnet50.yaml");
  EXPECT_EQ(find_preset(PresetKind::gpus, "te-2025"), std::nullopt);
}

TEST(Presets, AreSortedAndModelsAreMoreThanFiles) {
  auto models = preset_names(PresetKind::models);
  EXPECT_THAT(models,
              IsSupersetOf({"bert-base", "bert-base-qa", "gpt2-xl", "llama-3-70b", "resnet50", "vit-l"}));
  EXPECT_TRUE(std::is_sorted(models.begin(), models.end()));
  EXPECT_EQ(std::adjacent_find(models.begin(), models.end()), models.end());
  EXPECT_THAT(preset_names(PresetKind::gpus), Contains("t4"));
}

TEST(Presets, AFolderOfOnesOwn) {
  TemporaryFolder folder;
  std::filesystem::create_directory(folder.path("gpus"));
  folder.write("gpus/b.yaml", "");
  folder.write("gpus/a.yaml", "");
  folder.write("gpus/README.md", "");
  ScopedEnvironment environment({{"DDPSIM_PRESETS", folder.path("")}});
  EXPECT_THAT(preset_names(PresetKind::gpus), ElementsAre("a", "b"));
  EXPECT_TRUE(find_preset(PresetKind::gpus, "a"));
  EXPECT_EQ(find_preset(PresetKind::gpus, "h100-sxm"), std::nullopt);
  EXPECT_THAT(preset_names(PresetKind::software), ElementsAre());
}

TEST(Presets, APathIsNoName) {
  EXPECT_EQ(file_of(PresetKind::gpus, "gpus/nowhere"), std::nullopt);
  EXPECT_EQ(file_of(PresetKind::gpus, "nowhere.yaml"), std::nullopt);
  EXPECT_EQ(file_of(PresetKind::gpus, "h100-sxm"), find_preset(PresetKind::gpus, "h100-sxm"));
}

TEST(Presets, AModelIsWrittenAsPeopleDo) {
  TemporaryFolder folder;
  auto named = [](const std::string& written) { return model_of_option("--model", written); };
  EXPECT_EQ(named("meta-llama/Llama-3.1-8B").sizes, &transformer_named("llama-3-8b"));
  EXPECT_EQ(named("ResNet50").path, find_preset(PresetKind::models, "resnet50"));
  // A file of that path comes first.
  auto file = folder.write("gpt2", "");
  EXPECT_EQ(named(file).path, file);
  EXPECT_EQ(named("nowhere/config.json").path, "nowhere/config.json");
}

TEST(Presets, AWordThatIsNeitherFileNorModel) {
  auto error = [](const std::string& written) {
    return brief_error([&] { model_of_option("--model", written); });
  };
  EXPECT_EQ(error("meta-llama/Llama-9-8B"),
            "--model: no file 'meta-llama/Llama-9-8B', and no model of that name; did you mean "
            "'llama-3-8b'?; 'ddpsim list models' lists them; a path has a '/' or an extension");
}

TEST(Presets, ANameThatNothingHas) {
  EXPECT_EQ(error_of(PresetKind::gpus, "h100-smx"),
            "a.yaml:1:4-11: no GPU of the name 'h100-smx'; did you mean 'h100-sxm'?; 'ddpsim list gpus' "
            "lists them; a path has a '/' or an extension");
  EXPECT_EQ(error_of(PresetKind::models, "llama-2-8b"),
            "a.yaml:1:4-13: no model of the name 'llama-2-8b'; did you mean 'llama-2-7b'?; 'ddpsim list "
            "models' lists them; a path has a '/' or an extension");
  EXPECT_EQ(error_of(PresetKind::software, "jax"),
            "a.yaml:1:4-6: no software of the name 'jax'; 'ddpsim list software' lists them; a path has a "
            "'/' or an extension");
  EXPECT_EQ(error_of(PresetKind::topologies, "[dgx-h100]"),
            "a.yaml:1:4: expected text, found a list; write it like 'key: text'");
}

}  // namespace
}  // namespace ddpsim::testing
