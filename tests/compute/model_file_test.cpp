#include "sim/text/model_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/trace/trace_file.hpp"

#include "tests/support/temporary_folder.hpp"

namespace ddpsim {
namespace {

using ::testing::ElementsAre;

Model model_of(const std::string& text) {
  testing::TemporaryFolder folder;
  return read_model(folder.write("m.yaml", text));
}

std::vector<ParameterTensor> tensors(const Model& model) {
  std::vector<ParameterTensor> tensors;
  for (const auto& layer : model.layers)
    tensors.insert(tensors.end(), layer.tensors.begin(), layer.tensors.end());
  return tensors;
}

std::vector<std::string> names(const Model& model) {
  std::vector<std::string> names;
  for (const auto& tensor : tensors(model)) names.push_back(tensor.name);
  return names;
}

TEST(ModelFile, EveryKey) {
  auto model = model_of(
      "kind: model\n"
      "name: tiny\n"
      "layers:\n"
      "  - name: all\n"
      "    flops_per_token: 1\n"
      "    flops_per_token_and_position: 2\n"
      "    values_per_token: 3\n"
      "    values_per_token_and_position: 4\n"
      "    tied_weights: 5\n"
      "    kernels: 6\n"
      "    tensors: {weight: 70, bias: 8}\n");
  EXPECT_EQ(model.name, "tiny");
  ASSERT_EQ(model.layers.size(), 1U);
  const auto& forward = model.layers[0].forward;
  EXPECT_EQ(forward.flops_per_token, 1);
  EXPECT_EQ(forward.flops_per_token_and_position, 2);
  EXPECT_EQ(forward.values_per_token, 3);
  EXPECT_EQ(forward.values_per_token_and_position, 4);
  EXPECT_EQ(forward.weights, 5 + 70 + 8);
  EXPECT_EQ(forward.kernels, 6);
  EXPECT_EQ(model.layers[0].backward.weights, 2 * (5 + 70 + 8));
  EXPECT_EQ(model.layers[0].backward.kernels, 12);
  // Registered weight first, and arriving in the reverse.
  EXPECT_THAT(names(model), ElementsAre("all.bias", "all.weight"));
  EXPECT_EQ(tensors(model)[0].parameter, 1U);
  EXPECT_EQ(tensors(model)[1].parameter, 0U);
  EXPECT_EQ(model.elements(), 78);
}

TEST(ModelFile, GroupsAndLayersRepeat) {
  auto model = model_of(
      "kind: model\n"
      "name: tiny\n"
      "layers:\n"
      "  - {name: \"in.{i}\", repeat: 2, tensors: {w: 1}}\n"
      "  - name: h.{i}\n"
      "    repeat: 2\n"
      "    layers:\n"
      "      - {name: a, tensors: {w: 2}}\n"
      "      - {name: gelu, values_per_token: 9}\n"
      "      - {name: b, tensors: {w: 3}}\n");
  EXPECT_THAT(names(model), ElementsAre("in.0.w", "in.1.w", "h.0.a.w", "h.0.b.w", "h.1.a.w", "h.1.b.w"));
  EXPECT_EQ(model.layers.size(), 8U);
  EXPECT_EQ(model.layers[3].name, "h.0.gelu");
  EXPECT_EQ(tensors(model)[5].parameter, 5U);
}

TEST(ModelFile, ALookupReadsRowsAndWritesItsWholeGradient) {
  auto model = model_of(
      "kind: model\n"
      "name: tiny\n"
      "layers: [{name: e, lookup: true, values_per_token: 10, tensors: {w: 1000}}]\n");
  EXPECT_EQ(model.layers[0].forward.weights, 0);
  EXPECT_EQ(model.layers[0].backward.weights, 1000);
  EXPECT_EQ(model.layers[0].backward.values_per_token, 20);
}

// BertForQuestionAnswering: 30522 x 768 + 512 x 768 + 2 x 768 + 2 x 768 = 23,837,184 of the embeddings,
// 12 x (4 (768^2 + 768) + 2 x 768 x 3072 + 3072 + 768 + 4 x 768) = 12 x 7,087,872, and 2 x 768 + 2.
TEST(ModelFiles, Bert) {
  auto model = read_model(DDPSIM_SOURCE_DIR "/models/bert-base-qa.yaml");
  EXPECT_EQ(model.elements(), 108'893'186);
  EXPECT_EQ(tensors(model).size(), 5U + 12 * 16 + 2);
  // All matrices, at 2 operations an element and token: 12 (4 x 768^2 + 2 x 768 x 3072) + 2 x 768.
  EXPECT_EQ(model.forward_flops({1, 1}).value(), 2.0 * (12 * 7'077'888 + 1536) + 12 * 4 * 768);
}

// 2 x 10000 x 1600 + 48 (4 x 1600^2 + 3 x 1600 x 6400 + 2 x 1600) + 1600.
TEST(ModelFiles, Cs336Xl) {
  auto model = read_model(DDPSIM_SOURCE_DIR "/models/cs336-xl.yaml");
  EXPECT_EQ(model.elements(), 1'998'235'200);
  EXPECT_EQ(tensors(model).size(), 435U);
  EXPECT_EQ(model.forward_flops({1, 1}).value(), 2.0 * (48 * 40'960'000.0 + 16'000'000) + 48 * 4 * 1600);
}

// torchvision: resnet50's weights have num_params 25557032 and 4.09 GFLOPS, of a multiplication and addition
// each. Its gradients have the sizes, in their order, of those that a profiler recorded.
TEST(ModelFiles, ResNet50) {
  auto model = read_model(DDPSIM_SOURCE_DIR "/models/resnet50.yaml");
  EXPECT_EQ(model.elements(), 25'557'032);
  EXPECT_EQ(model.forward_flops({1, 1}).value(), 2 * 4'089'184'256.0);
  std::vector<std::int64_t> arriving, recorded;
  for (auto layer = model.layers.rbegin(); layer != model.layers.rend(); ++layer)
    for (const auto& tensor : layer->tensors) arriving.push_back(tensor.elements);
  for (const auto& gradient : read_trace(DDPSIM_SOURCE_DIR "/traces/resnet50-2xa100.csv").gradients)
    recorded.push_back(gradient.elements);
  EXPECT_EQ(arriving, recorded);
}

// torchvision: vit_l_16's weights have num_params 304326632 and 61.55 GFLOPS. A block has
// 2 x 2 x 1024 + 3 x 1024^2 + 3 x 1024 + 1024^2 + 1024 + 2 x 4096 x 1024 + 4096 + 1024 = 12,596,224.
TEST(ModelFiles, VitL) {
  auto model = read_model(DDPSIM_SOURCE_DIR "/models/vit-l.yaml");
  EXPECT_EQ(model.elements(), 304'326'632);
  EXPECT_EQ(tensors(model).size(), 1U + 2 + 1 + 24 * 12 + 2 + 2);
  double blocks = 24.0 * (12 * 1024 * 1024 + 2 * 197 * 1024) * 197;
  EXPECT_NEAR(model.forward_flops({1, 197}).value(), 2 * (blocks + 196.0 * 768 * 1024 + 1024 * 1000), 10);
  EXPECT_NEAR(model.forward_flops({1, 197}).value() / 2e9, 61.55, 0.005);
}

}  // namespace
}  // namespace ddpsim
