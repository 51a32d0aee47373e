#include "sim/trace/import/operator_table.hpp"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/trace/trace_file.hpp"

#include "tests/trace/import/operator_tables.hpp"

namespace ddpsim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::kOperators;
using testing::kTensors;
using testing::OperatorTablesFolder;
using testing::with;

LayerTrace import_of(const std::string& operators, const std::string& tensors = kTensors) {
  return import_operator_table(OperatorTablesFolder(operators, tensors).import).trace;
}

// Backward: Addmm until 5 us, ReLU until 6 us, Convolution until 26 us.
TEST(OperatorTable, GradientsAreReadyWithTheirBackwardOperator) {
  auto trace = import_of(kOperators);
  EXPECT_THAT(trace.gradients,
              ElementsAre(Gradient{"linear.0.bias", 4, DType::float32, Seconds(5 / 1e6), {}},
                          Gradient{"linear.0.weight", 40, DType::float32, Seconds(5 / 1e6), {}},
                          Gradient{"conv2d.0.bias", 2, DType::float32, Seconds(26 / 1e6), {}},
                          Gradient{"conv2d.0.weight", 8, DType::float32, Seconds(26 / 1e6), {}}));
  EXPECT_EQ(trace.forward, Seconds(10 / 1e6));  // 7 + 3 us
  EXPECT_EQ(trace.optimizer, Seconds(4 / 1e6));
  EXPECT_THAT(trace.registration_order, ElementsAre(3, 2, 1, 0));
  EXPECT_THAT(trace.metadata.notes[0], HasSubstr("imported from trace.csv and tensor.csv"));
}

TEST(OperatorTable, WhatTheUserSaysIsKeptAndTheTraceCanBeWritten) {
  OperatorTablesFolder tables;
  tables.import.metadata.model = "two layers";
  tables.import.metadata.notes = {"a remark"};
  auto trace = import_operator_table(tables.import).trace;
  EXPECT_EQ(trace.metadata.model, "two layers");
  EXPECT_EQ(trace.metadata.notes.front(), "a remark");
  auto text = write_trace(trace);
  EXPECT_EQ(parse_trace({make_source("t.csv", text), text}), trace);
}

TEST(OperatorTable, TheOptimizerSaysHowParametersAreRegistered) {
  auto trace = import_of(
      with(kOperators, "[2; 3; 5; 6; 9; 10; 8; 11]", "[5; 6; 2; 3; 8; 11; 9; 10]")
          .replace(kOperators.find("[8; 2; 40; 4; 8; 2; 40; 4]"), 26, "[40; 4; 8; 2; 40; 4; 8; 2]"));
  EXPECT_THAT(trace.registration_order, ElementsAre(1, 0, 3, 2));
}

TEST(OperatorTable, WithoutAnOptimizerRegistrationIsAssumed) {
  auto trace = import_of(kOperators.substr(0, kOperators.find("6,aten::_foreach")));
  EXPECT_FALSE(trace.optimizer);
  EXPECT_THAT(trace.registration_order, ElementsAre(3, 2, 1, 0));
  EXPECT_THAT(trace.metadata.notes.back(), HasSubstr("registration is the reverse of arrival"));
}

// A second linear of the same weight, whose backward operator runs later: ready at the end of that one.
TEST(OperatorTable, ASharedWeightIsReadyWithItsLastUse) {
  auto operators = with(kOperators, "2,aten::linear,",
                        "1,aten::linear,[4; 5; 6],[7],9,3,[50; 40; 4],[20],0,forward,1\n2,aten::linear,");
  operators =
      with(operators, "5,autograd",
           "3,autograd::engine::evaluate_function: AddmmBackward0,[8],[8],9,5,[40],[40],0,backward,1\n"
           "5,autograd");
  auto trace = import_of(operators);
  ASSERT_EQ(trace.gradients.size(), 4U);
  EXPECT_EQ(trace.gradients[1].name, "linear.0.weight");
  EXPECT_EQ(trace.gradients[1].ready, Seconds(11 / 1e6));  // 5 + 1 + 5 us
}

// A backward operator that reads the weight only for the gradient of its input yields no gradient of it.
TEST(OperatorTable, ReadingAWeightIsNotEnough) {
  auto trace = import_of(with(kOperators, "5,autograd",
                              "3,autograd::engine::evaluate_function: MmBackward0,[8],[7],9,2,[40],[20],0,"
                              "backward,1\n5,autograd"));
  EXPECT_EQ(trace.gradients[1].ready, Seconds(5 / 1e6));
  EXPECT_EQ(trace.gradients[3].ready, Seconds(28 / 1e6));
}

TEST(OperatorTable, TwoBytesNeedADtype) {
  auto half = kTensors;
  for (const auto* type : {"weight,22", "bias=None,23", "weight,25", "bias=None,26"})
    half = with(half, std::string(",4,") + type, std::string(",2,") + type);
  OperatorTablesFolder tables(kOperators, half);
  tables.import.dtype = DType::bfloat16;
  for (const auto& gradient : import_operator_table(tables.import).trace.gradients)
    EXPECT_EQ(gradient.dtype, DType::bfloat16);
}

LayerTrace recorded(const std::string& model) {
  auto folder = std::string(DDPSIM_SOURCE_DIR) + "/tests/trace/import/data/operator_table/" + model;
  return import_operator_table({folder + "/trace.csv", folder + "/tensor.csv", std::nullopt, {}}).trace;
}

// torchvision's resnet50 has 161 parameters with 25,557,032 elements. Backward: NllLoss 3 us, LogSoftmax 3
// us, Addmm 41 us: fc at 47 us; Mean 32 us, ReLU 53 us, batch norm 95 us: layer4.2.bn3 at 227 us; its
// convolution takes 232 us more.
TEST(OperatorTable, RecordedResNet50) {
  auto trace = recorded("resnet50");
  ASSERT_EQ(trace.gradients.size(), 161U);
  EXPECT_EQ(trace.bytes(), Bytes(4.0 * 25'557'032));
  auto gradient = [&](std::size_t i) {
    const auto& one = trace.gradients[i];
    return fmt::format("{} {} {}", one.name, one.elements, one.ready.value());
  };
  EXPECT_EQ(gradient(0), "linear.0.bias 1000 4.7e-05");
  EXPECT_EQ(gradient(1), "linear.0.weight 2048000 4.7e-05");
  EXPECT_EQ(gradient(2), "batch_norm.52.bias 2048 0.000227");
  EXPECT_EQ(gradient(3), "batch_norm.52.weight 2048 0.000227");
  EXPECT_EQ(gradient(4), "conv2d.52.weight 1048576 0.000459");
  EXPECT_EQ(gradient(160), "conv2d.0.weight 9408 0.045977");
  EXPECT_EQ(trace.forward, Seconds(23901 / 1e6));
  EXPECT_EQ(trace.optimizer, Seconds(845 / 1e6));
  // Gradients arrive in the reverse of registration, as PyTorch's first buckets assume.
  EXPECT_EQ(trace.registration_order, reverse_of_arrival(161));
}

TEST(OperatorTable, RecordedVgg13) {
  auto trace = recorded("vgg13");
  ASSERT_EQ(trace.gradients.size(), 26U);
  EXPECT_EQ(trace.bytes(), Bytes(4.0 * 133'047'848));
  EXPECT_EQ(trace.gradients[1].name, "linear.2.weight");  // 3 + 3 + 67 us
  EXPECT_EQ(trace.gradients[1].ready, Seconds(73 / 1e6));
  EXPECT_EQ(trace.gradients[5].elements, 25088 * 4096);
  EXPECT_EQ(trace.backward(), Seconds(62365 / 1e6));
  EXPECT_EQ(trace.registration_order, reverse_of_arrival(26));
}

}  // namespace
}  // namespace ddpsim
