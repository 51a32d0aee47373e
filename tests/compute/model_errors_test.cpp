// Every way in which a model file can be wrong, with the whole message.
#include <gtest/gtest.h>

#include "sim/text/model_file.hpp"

#include "tests/support/errors.hpp"
#include "tests/support/temporary_folder.hpp"

namespace ddpsim {
namespace {

std::string error_of(const std::string& text) {
  testing::TemporaryFolder folder;
  auto path = folder.write("m.yaml", text);
  return folder.without_folder(testing::input_error([&] { read_model(path); }));
}

std::string layers_error(const std::string& layers) {
  return error_of("kind: model\nname: tiny\nlayers: " + layers + "\n");
}

TEST(ModelErrors, AnotherKind) {
  EXPECT_EQ(error_of("kind: gpu\nname: tiny\nlayers: []\n"),
            "m.yaml:1:7: error: unknown value 'gpu'\n"
            "  1 | kind: gpu\n"
            "    |       ^~~\n"
            "hint: one of model");
}

TEST(ModelErrors, NameOfTwoLines) {
  EXPECT_EQ(error_of("kind: model\nname: \"ti\\nny\"\nlayers: []\n"),
            "m.yaml:2:7: error: a name of several lines\n"
            "  2 | name: \"ti\\n"
            "ny\"\n"
            "    |       ^~~~~\n"
            "hint: write it on one line");
}

TEST(ModelErrors, NoLayers) {
  EXPECT_EQ(layers_error("[]"),
            "m.yaml:3:9: error: the model has no tensors\n"
            "  3 | layers: []\n"
            "    |         ^\n"
            "hint: give a layer 'tensors: {weight: 1000}'");
}

TEST(ModelErrors, NoTensors) {
  EXPECT_EQ(layers_error("[{name: gelu, values_per_token: 1}]"),
            "m.yaml:3:9: error: the model has no tensors\n"
            "  3 | layers: [{name: gelu, values_per_token: 1}]\n"
            "    |         ^\n"
            "hint: give a layer 'tensors: {weight: 1000}'");
}

TEST(ModelErrors, LayerWithoutName) {
  EXPECT_EQ(layers_error("[{tensors: {w: 1}}]"),
            "m.yaml:3:10: error: 'layer' lacks the key 'name'\n"
            "  3 | layers: [{tensors: {w: 1}}]\n"
            "    |          ^\n"
            "hint: add 'name: ...'");
}

TEST(ModelErrors, TensorsAsAList) {
  EXPECT_EQ(layers_error("[{name: a, tensors: [1]}]"),
            "m.yaml:3:29: error: 'tensors' is a map from names to elements\n"
            "  3 | layers: [{name: a, tensors: [1]}]\n"
            "    |                             ^\n"
            "hint: write it like {weight: 589824, bias: 768}");
}

TEST(ModelErrors, TensorWithoutElements) {
  EXPECT_EQ(layers_error("[{name: a, tensors: {w: 0}}]"),
            "m.yaml:3:33: error: 0 is out of range\n"
            "  3 | layers: [{name: a, tensors: {w: 0}}]\n"
            "    |                                 ^\n"
            "hint: write a number from 1 to 9007199254740992");
}

TEST(ModelErrors, PartOfAnElement) {
  EXPECT_EQ(layers_error("[{name: a, tensors: {w: 1.5}}]"),
            "m.yaml:3:33: error: '1.5' is not a whole number\n"
            "  3 | layers: [{name: a, tensors: {w: 1.5}}]\n"
            "    |                                 ^~~\n"
            "hint: write a whole number from 1 to 9007199254740992");
}

TEST(ModelErrors, TooManyElements) {
  EXPECT_EQ(layers_error("[{name: a, tensors: {w: 9007199254740992}}]"),
            "m.yaml:3:29: error: the tensors up to here are more than 8 PiB as float64\n"
            "  3 | layers: [{name: a, tensors: {w: 9007199254740992}}]\n"
            "    |                             ^\n"
            "hint: check the element counts");
}

TEST(ModelErrors, RepeatedWithoutIndex) {
  EXPECT_EQ(layers_error("[{name: a, repeat: 2, tensors: {w: 1}}]"),
            "m.yaml:3:41: error: tensor 'a.w' appears twice\n"
            "  3 | layers: [{name: a, repeat: 2, tensors: {w: 1}}]\n"
            "    |                                         ^\n"
            "hint: put {i} into the name of what is repeated");
}

TEST(ModelErrors, TensorTwice) {
  EXPECT_EQ(layers_error("\n  - {name: a, tensors: {w: 1}}\n  - {name: a, tensors: {w: 1}}"),
            "m.yaml:5:25: error: tensor 'a.w' appears twice\n"
            "  5 |   - {name: a, tensors: {w: 1}}\n"
            "    |                         ^\n"
            "hint: it is first on line 4");
}

TEST(ModelErrors, UnknownKey) {
  EXPECT_EQ(layers_error("[{name: a, flops: 1, tensors: {w: 1}}]"),
            "m.yaml:3:20: error: unknown key 'flops'; did you mean 'flops_per_token'?\n"
            "  3 | layers: [{name: a, flops: 1, tensors: {w: 1}}]\n"
            "    |                    ^~~~~\n"
            "hint: 'layer' knows repeat, name, flops_per_token, flops_per_token_and_position, "
            "values_per_token, values_per_token_and_position, tied_weights, kernels, lookup, tensors");
}

TEST(ModelErrors, NegativeCount) {
  EXPECT_EQ(layers_error("[{name: a, flops_per_token: -1, tensors: {w: 1}}]"),
            "m.yaml:3:37: error: -1 is outside [0, 1e+18]\n"
            "  3 | layers: [{name: a, flops_per_token: -1, tensors: {w: 1}}]\n"
            "    |                                     ^~\n"
            "hint: write a number in that range");
}

TEST(ModelErrors, CountWithUnit) {
  EXPECT_EQ(layers_error("[{name: a, flops_per_token: 1MB, tensors: {w: 1}}]"),
            "m.yaml:3:38: error: '1MB' is not a plain number\n"
            "  3 | layers: [{name: a, flops_per_token: 1MB, tensors: {w: 1}}]\n"
            "    |                                      ^~\n"
            "hint: write the bare number, without a unit");
}

TEST(ModelErrors, NeverRepeated) {
  EXPECT_EQ(layers_error("[{name: a, repeat: 0, tensors: {w: 1}}]"),
            "m.yaml:3:28: error: 0 is out of range\n"
            "  3 | layers: [{name: a, repeat: 0, tensors: {w: 1}}]\n"
            "    |                            ^\n"
            "hint: write a number from 1 to 10000");
}

TEST(ModelErrors, GroupInAGroup) {
  EXPECT_EQ(layers_error("[{name: a, layers: [{name: b, layers: []}]}]"),
            "m.yaml:3:39: error: unknown key 'layers'\n"
            "  3 | layers: [{name: a, layers: [{name: b, layers: []}]}]\n"
            "    |                                       ^~~~~~\n"
            "hint: 'layer' knows name, flops_per_token, flops_per_token_and_position, values_per_token, "
            "values_per_token_and_position, tied_weights, kernels, lookup, tensors");
}

TEST(ModelErrors, LookupThatIsNeither) {
  EXPECT_EQ(layers_error("[{name: a, lookup: yes, tensors: {w: 1}}]"),
            "m.yaml:3:28: error: 'yes' is neither true nor false\n"
            "  3 | layers: [{name: a, lookup: yes, tensors: {w: 1}}]\n"
            "    |                            ^~~\n"
            "hint: write true or false");
}

TEST(ModelErrors, NoKernels) {
  EXPECT_EQ(layers_error("[{name: a, kernels: 0, tensors: {w: 1}}]"),
            "m.yaml:3:29: error: 0 is out of range\n"
            "  3 | layers: [{name: a, kernels: 0, tensors: {w: 1}}]\n"
            "    |                             ^\n"
            "hint: write a number from 1 to 1000");
}

TEST(ModelErrors, TooManyLayers) {
  EXPECT_EQ(
      layers_error(
          "[{name: 'a{i}', repeat: 10000, layers: [{name: 1}, {name: 2}, {name: 3}, {name: 4}, {name: 5}, "
          "{name: 6}, {name: 7}, {name: 8}, {name: 9}, {name: 10}, {name: 11}]}]"),
      "m.yaml:3:71: error: more than 20000 layers\n"
      "  3 | layers: [{name: 'a{i}', repeat: 10000, layers: [{name: 1}, {name: 2}, {name: 3}, {name: 4}, "
      "{name: 5}, {name: 6}, {name: 7}, {name: 8}, {name: 9}, {name: 10}, {\n"
      "    |                                                                       ^\n"
      "hint: repeat less often");
}

}  // namespace
}  // namespace ddpsim
