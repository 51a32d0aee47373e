// Recorded steps beside profiles, both written here; real ones: tests/cli/step_comparison_test.py.
#include "sim/trace/step_comparison.hpp"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/trace/import/pytorch_profiler/profiled_step.hpp"

#include "tests/support/temporary_folder.hpp"

namespace ddpsim::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

RecordedOperator kernel(std::string name) {
  RecordedOperator op;
  op.name = std::move(name);
  op.written = 1;
  op.flops = op.name == "mm" ? 1 : 0;
  return op;
}
LaunchedCollective launch(Operation operation, double bytes, std::string dtype = "float32") {
  LaunchedCollective one;
  one.operation = operation;
  one.bytes = Bytes(bytes);
  one.dtype = std::move(dtype);
  return one;
}
// Every operator takes a second.
RecordedStep step(std::vector<RecordedItem> items) {
  auto recording = std::make_shared<Recording>();
  recording->world_size = 4;
  recording->groups = {{.name = "world", .count = 4}};
  recording->items = std::move(items);
  RecordedStep one{recording, {}};
  for (const auto& item : recording->items)
    one.times.push_back(Seconds(std::holds_alternative<RecordedOperator>(item) ? 1 : 0));
  return one;
}
const StepComparison::Operators* of(const std::vector<StepComparison::Operators>& all,
                                    std::string_view name) {
  auto found = std::ranges::find(all, name, &StepComparison::Operators::name);
  return found == all.end() ? nullptr : &*found;
}

// Two of these are all-reduces of 16 and 8 elements; the profile has the second first.
TEST(StepComparison, SaysWhereTheOrderDiffers) {
  auto recorded = step({kernel("mm"), launch(Operation::all_reduce, 64),
                        launch(Operation::all_reduce, 16, "bfloat16"), launch(Operation::all_gather, 32)});
  ProfiledStep profiled;
  profiled.collectives = {{"all_reduce", 16, 4}, {"all_gather", 8, 4}, {"all_reduce", 8, 4}};
  auto compared = compare_steps(recorded, profiled);
  EXPECT_EQ(compared.in_order, 1U);
  EXPECT_EQ(compared.recorded_next, (ProfiledCollective{"all_reduce", 8, 4}));
  EXPECT_EQ(compared.profiled_next, (ProfiledCollective{"all_gather", 8, 4}));
  for (const auto& [what, count] : compared.collectives) EXPECT_EQ(count.recorded, count.profiled);
  profiled.collectives = {{"all_reduce", 16, {}}, {"all_reduce", 8, {}}, {"all_gather", 8, {}}};
  EXPECT_TRUE(compare_steps(recorded, profiled).has_same_order()) << "whatever groups are";
  profiled.collectives.pop_back();
  EXPECT_FALSE(compare_steps(recorded, profiled).has_same_order());
}

// linear calls addmm, clone calls copy_: kernels are those of the recorded operator.
TEST(StepComparison, WhatAnOperatorCallsIsPartOfIt) {
  ProfiledStep profiled;
  profiled.has_kernels = true;
  profiled.operators = {{"linear", {}, {}},       {"mm", 0, Seconds(3)},      {"clone", {}, {}},
                        {"copy_", 2, Seconds(2)}, {"relu", {}, Seconds(0.5)}, {"view", {}, {}}};
  auto compared = compare_steps(step({kernel("mm"), kernel("clone"), kernel("gelu")}), profiled);
  ASSERT_TRUE(of(compared.classes, "products"));
  EXPECT_EQ(of(compared.classes, "products")->count.profiled_time, Seconds(3));
  EXPECT_EQ(of(compared.classes, "copies")->count.profiled_time, Seconds(2));
  EXPECT_EQ(of(compared.classes, "copies")->count.recorded_time, Seconds(1));
  ASSERT_EQ(compared.only_recorded.size(), 1U);
  EXPECT_EQ(compared.only_recorded[0].name, "gelu");
  ASSERT_EQ(compared.only_profiled.size(), 1U);
  EXPECT_EQ(compared.only_profiled[0].name, "relu");
}

TEST(ProfiledStep, IsTheLastOfThem) {
  TemporaryFolder folder;
  auto path = folder.write("trace.json", R"({"traceEvents": [
{"ph":"X","cat":"user_annotation","name":"ProfilerStep#1","pid":1,"tid":1,"ts":0,"dur":10,"args":{}},
{"ph":"X","cat":"cpu_op","name":"aten::relu","pid":1,"tid":1,"ts":1,"dur":2,"args":{"External id":1}},
{"ph":"X","cat":"user_annotation","name":"ProfilerStep#2","pid":1,"tid":1,"ts":10,"dur":10,"args":{}},
{"ph":"X","cat":"cpu_op","name":"aten::linear","pid":1,"tid":1,"ts":11,"dur":5,"args":{"External id":2}},
{"ph":"X","cat":"cpu_op","name":"aten::addmm","pid":1,"tid":1,"ts":12,"dur":2,"args":{"External id":3}},
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":2,"ts":13,"dur":2,"args":{"External id":4}},
{"ph":"X","cat":"cpu_op","name":"c10d::allreduce_","pid":1,"tid":1,"ts":17,"dur":1,"args":{"Input Dims":[[[3,5],[2]],[]]}},
{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":30,"dur":4,"args":{"External id":3}}]})");
  auto step = pytorch_profiler::read_profiled_step(path);
  ASSERT_EQ(step.operators.size(), 3U);
  EXPECT_EQ(step.operators[0].name, "linear");
  EXPECT_EQ(step.operators[1].within, 0U);
  EXPECT_NEAR(step.operators[1].on_gpu.value(), 4e-6, 1e-12);
  EXPECT_FALSE(step.operators[2].within) << "of another thread";
  EXPECT_THAT(step.collectives, ElementsAre(ProfiledCollective{"all_reduce", 17, {}}));
}

TEST(ProfiledStep, SaysWhatItCannotUse) {
  TemporaryFolder folder;
  auto refuses = [&](const std::string& events, const char* message) {
    auto path = folder.write("trace.json", "{\"traceEvents\": [" + events + "]}");
    EXPECT_THAT([&] { pytorch_profiler::read_profiled_step(path); },
                ThrowsMessage<InputError>(HasSubstr(message)));
  };
  refuses("", "has no operators");
  refuses(R"({"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":1,"args":{}})",
          "without a time");
  refuses(R"({"ph":"X","cat":"cpu_op","name":"c10d::allreduce_","pid":1,"tid":1,"ts":1,"dur":1,"args":{}})",
          "record_shapes=True");
}

}  // namespace
}  // namespace ddpsim::testing
