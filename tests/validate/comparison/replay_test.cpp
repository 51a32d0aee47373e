#include "validate/comparison/replay.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/resolve/resolve.hpp"

#include "tests/support/errors.hpp"
#include "tests/support/temporary_folder.hpp"

namespace ddpsim::validate {
namespace {

using ddpsim::testing::input_error;
using ddpsim::testing::TemporaryFolder;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

// forward 1 s, backward 4 s, optimizer 0.25 s; 400 B, 800 B and 200 B.
constexpr const char* kTrace =
    "# ddpsim-trace: 1\n"
    "# forward: 1s\n"
    "# optimizer: 250ms\n"
    "gradient,elements,dtype,ready_s\n"
    "c,100,float32,0.5\n"
    "b,200,float32,2\n"
    "a,50,float32,4\n";

// The scenario with more lines of YAML; `workload` holds more of that section.
Scenario scenario_of(const std::string& more, const std::string& workload = "",
                     const std::string& trace = kTrace) {
  TemporaryFolder folder;
  folder.write("trace.csv", trace);
  folder.write("table.csv", "# ddpsim-allreduce: 1\n# world_size: 8\nbytes,time_s\n4,1\n");
  auto path = folder.write("scenario.yaml", "workload: {trace: trace.csv" + workload +
                                                "}\n"
                                                "cluster: {world_size: 8}\n"
                                                "collective: {algorithm: measured, measured: table.csv}\n" +
                                                more);
  return resolve(Files(path), config::load_yaml(path, "a scenario"));
}

// "compute 0.5" for so many seconds, "all-reduce 100+20" of 20 elements from 100 on, "wait" for those before.
std::vector<std::string> actions_of(const Scenario& scenario) {
  std::vector<std::string> actions;
  auto step = replay_step(scenario, "", {});
  std::size_t launched = 0;
  for (const auto& op : step.program.ops) {
    bool waits = std::any_of(op.after.begin(), op.after.end(), [&](auto before) {
      return step.program.ops[before].kind == Op::Kind::collective;
    });
    if (waits) actions.emplace_back("wait");
    if (op.kind == Op::Kind::compute) {
      actions.push_back(fmt::format("compute {}", op.duration.value()));
    } else {
      auto range = step.ranges[launched++];
      actions.push_back(fmt::format("{} {}+{}", operation_words(op.operation), range.first, range.count));
    }
  }
  return actions;
}

// The forward pass, then each gradient when it is ready: after 0.5, 2 and 4 s.
TEST(ReplayStep, Overlap) {
  EXPECT_THAT(actions_of(scenario_of("strategy: overlap\n")),
              ElementsAre("compute 1", "compute 0.5", "all-reduce 0+100", "compute 1.5", "all-reduce 100+200",
                          "compute 2", "all-reduce 300+50", "wait", "compute 0.25"));
}

// 400 B fill the first bucket; 800 B + 200 B the second, which waits for the last gradient.
TEST(ReplayStep, Buckets) {
  EXPECT_THAT(actions_of(scenario_of("ddp: {first_bucket_cap: 400B, bucket_cap: 1000B}\n")),
              ElementsAre("compute 1", "compute 0.5", "all-reduce 0+100", "compute 3.5", "all-reduce 100+250",
                          "wait", "compute 0.25"));
}

// In the order of registration, the reverse of arrival.
TEST(ReplayStep, AfterTheBackwardPass) {
  EXPECT_THAT(actions_of(scenario_of("strategy: naive\n")),
              ElementsAre("compute 1", "compute 0.5", "compute 1.5", "compute 2", "all-reduce 0+50", "wait",
                          "all-reduce 50+200", "wait", "all-reduce 250+100", "wait", "compute 0.25"));
  EXPECT_THAT(actions_of(scenario_of("strategy: flat\n")),
              ElementsAre("compute 1", "compute 4", "all-reduce 0+350", "wait", "compute 0.25"));
}

// Three forward and two backward passes come before the last backward pass: 3 x 1 + 2 x 4 = 11 s.
TEST(ReplayStep, Accumulation) {
  auto scenario = scenario_of("strategy: flat\nddp: {accumulation_steps: 3}\n");
  EXPECT_THAT(actions_of(scenario),
              ElementsAre("compute 1", "compute 4", "compute 1", "compute 4", "compute 1", "compute 4",
                          "all-reduce 0+350", "wait", "compute 0.25"));
  EXPECT_EQ(replay_step(scenario, "", {}).before_last_backward, 4U);
}

// Gradients that are ready together are launched one after another, without computing in between.
TEST(ReplayStep, ReadyTogether) {
  auto scenario = scenario_of("strategy: overlap\n", "",
                              "# ddpsim-trace: 1\n"
                              "gradient,elements,dtype,ready_s\n"
                              "b,1,float32,2\n"
                              "a,2,float32,2\n");
  EXPECT_THAT(actions_of(scenario),
              ElementsAre("compute 2", "all-reduce 0+1", "all-reduce 1+2", "wait", "compute 0"));
}

// 3 x 2 B = 6 B are two float32, 5 x 2 B three, 1 x 8 B two.
TEST(ReplayStep, OtherTypesAsFloat32) {
  auto scenario = scenario_of("strategy: overlap\n", "",
                              "# ddpsim-trace: 1\n"
                              "gradient,elements,dtype,ready_s\n"
                              "c,3,float16,1\n"
                              "b,5,bfloat16,2\n"
                              "a,1,float64,3\n");
  EXPECT_THAT(actions_of(scenario), ElementsAre("compute 1", "all-reduce 0+2", "compute 1", "all-reduce 2+3",
                                                "compute 1", "all-reduce 5+2", "wait", "compute 0"));
}

TEST(ReplayStep, WhatElseAStepSays) {
  auto step = replay_step(scenario_of(""), "ddp.bucket_cap = 1MiB", {3, 7, 20, 0.01, Seconds(5)});
  EXPECT_EQ(step.name, "ddp.bucket_cap = 1MiB");
  EXPECT_TRUE(step.verify);
  EXPECT_FALSE(step.reduction);
  EXPECT_EQ(step.sampling.warm_up, 3);
  EXPECT_EQ(step.sampling.most, 20);
}

std::map<int, double> slowdowns(const std::string& stragglers) {
  return slowdowns_of(scenario_of("", ", stragglers: [" + stragglers + "]"));
}

TEST(Slowdowns, OfTheRanksThatAreNamed) {
  EXPECT_THAT(slowdowns_of(scenario_of("")), IsEmpty());
  EXPECT_THAT(slowdowns("{rank: 3, slowdown: 1.5}, {rank: 1, slowdown: 2}"),
              ElementsAre(Pair(1, 2.0), Pair(3, 1.5)));
}

// Ranks 1, 5 and 6 are alike: of them only rank 1 stays where it is, since ranks 0 and 3 stand for others.
TEST(Slowdowns, OfSeveralThatAreAlike) {
  EXPECT_THAT(slowdowns("{rank: 1, slowdown: 2}, {rank: 3, slowdown: 3}, {rank: 5, slowdown: 2}, "
                        "{rank: 6, slowdown: 2}"),
              ElementsAre(Pair(1, 2.0), Pair(2, 2.0), Pair(3, 3.0), Pair(4, 2.0)));
  EXPECT_THAT(slowdowns("{rank: 0, slowdown: 2}, {rank: 7, slowdown: 2}"),
              ElementsAre(Pair(0, 2.0), Pair(2, 2.0)));
}

TEST(Slowdowns, OfAllRanks) {
  std::string all;
  for (int rank = 0; rank < 8; ++rank) all += fmt::format("{{rank: {}, slowdown: 2}},", rank);
  auto slow = slowdowns(all);
  EXPECT_EQ(slow.size(), 8U);
  for (int rank = 0; rank < 8; ++rank) EXPECT_EQ(slow[rank], 2) << rank;
}

std::string refusal(const Scenario& scenario) {
  return input_error([&] { check_can_be_real(scenario); });
}

TEST(CheckCanBeReal, WhatCan) {
  check_can_be_real(scenario_of("strategy: overlap\n", ", stragglers: [{rank: 3, slowdown: 2}]"));
  check_can_be_real(scenario_of("ddp: {static_graph: true, gradient_as_bucket_view: true}\n"));
}

TEST(CheckCanBeReal, UnusedParameters) {
  const std::string message =
      "error: a real run has no unused parameters\n"
      "hint: remove ddp.find_unused_parameters and workload.unused_parameters";
  EXPECT_EQ(refusal(scenario_of("ddp: {find_unused_parameters: true}\n")), message);
  EXPECT_EQ(refusal(scenario_of("strategy: naive\n", ", unused_parameters: [b]")), message);
}

TEST(CheckCanBeReal, WhatDdpCanDoBesides) {
  EXPECT_EQ(refusal(scenario_of("ddp: {compiled: true}\n")),
            "error: a real run compiles no graph\nhint: remove ddp.compiled");
  auto by_turns = scenario_of("");
  by_turns.plan.process_groups = 2;
  EXPECT_EQ(refusal(by_turns), "error: a real run has one process group\nhint: remove ddp.process_groups");
}

// That of a static graph has a bitmap of its own.
TEST(CheckCanBeReal, TheFirstIteration) {
  for (const char* options : {"iteration: first", "iteration: first, static_graph: true"})
    EXPECT_EQ(refusal(scenario_of(fmt::format("ddp: {{{}}}\n", options))),
              "error: a real run measures steady iterations, not the first ones\n"
              "hint: remove ddp.iteration");
}

}  // namespace
}  // namespace ddpsim::validate
