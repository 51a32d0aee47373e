// Steps of pipelines against their closed forms: messages that take no time, and how much a step grows with
// what they take.
#include "sim/program/pipeline.hpp"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/check.hpp"
#include "sim/replay/replay.hpp"

namespace ddpsim::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class Constant : public CollectiveCost {
 public:
  explicit Constant(double seconds) : time_(seconds) {}
  CollectiveDuration alone(Operation, Bytes) override { return {time_, time_}; }

 private:
  Seconds time_;
};

struct Passes {
  double forward = 1, input_gradient = 1, weight_gradient = 1;
  [[nodiscard]] double sum() const { return forward + input_gradient + weight_gradient; }
};

PipelinePlan plan_of(const PipelineShape& shape, const Passes& passes, MessageOverlap messages) {
  PipelinePlan plan;
  plan.shape = shape;
  plan.messages = messages;
  plan.message = Bytes(1);
  auto ranks = static_cast<std::size_t>(shape.ranks), chunks = static_cast<std::size_t>(shape.chunks);
  double share = shape.is_dual() ? 1 : 1.0 / shape.chunks;
  ChunkTimes times{Seconds(share * passes.forward),
                   {},
                   Seconds(share * passes.input_gradient),
                   Seconds(share * passes.weight_gradient)};
  plan.times.assign(ranks, std::vector<ChunkTimes>(chunks, times));
  return plan;
}

// What reduces all of a chunk's gradients with its last backward pass.
class ReducingAxis final : public DataAxis {
 public:
  ReducingAxis(StepBuilder& step, const ChunkTimes& times, bool reduces)
      : DataAxis(step), times_(times), reduces_(reduces) {}
  void forward(const Turn& turn) override {
    step_.compute(Activity::forward, turn.micro_batch, times_.forward);
  }
  void backward(const Turn& turn) override {
    step_.compute(Activity::backward, turn.micro_batch,
                  turn.pace * (times_.recompute + times_.input_gradient + times_.weight_gradient));
    if (turn.is_last && reduces_)
      reduction_ = step_.collective(Activity::all_reduce, Operation::all_reduce, 0, Bytes(8));
  }
  void finish() override {
    if (reduction_) step_.wait(*reduction_);
  }
  [[nodiscard]] Seconds optimizer() const override { return {}; }

 private:
  ChunkTimes times_;
  bool reduces_;
  std::optional<std::size_t> reduction_;
};

std::vector<StepProgram> programs_of(const PipelinePlan& plan) {
  return pipeline_programs(plan, {}, [&](StepBuilder& step, int rank, int chunk) {
    const auto& times = plan.times[static_cast<std::size_t>(rank)][static_cast<std::size_t>(chunk)];
    return std::make_unique<ReducingAxis>(step, times, !plan.joined.empty());
  });
}

Seconds replayed(const PipelinePlan& plan, const std::vector<StepProgram>& programs, double message) {
  auto channels = pipeline_channels(plan);
  Constant cost(message);
  std::vector<ReplayedClass> classes;
  for (int rank = 0; rank < plan.shape.ranks; ++rank)
    classes.push_back({&programs[static_cast<std::size_t>(rank)].program, 1, Seconds(),
                       channels_of_rank(channels, rank, plan.shape.ranks)});
  std::vector<ReplayedCommunicator> communicators(channels.size(), {{{&cost}}});
  auto network = make_timer_network();
  auto result = replay(classes, communicators, {}, *network);
  Seconds end;
  for (const auto& one : result.classes) end = std::max(end, one.ended.back());
  return end;
}

double step(const PipelineShape& shape, const Passes& passes, double message = 0,
            MessageOverlap messages = MessageOverlap::overlapped) {
  auto plan = plan_of(shape, passes, messages);
  return replayed(plan, programs_of(plan), message).value();
}

constexpr auto k1F1B = PipelineSchedule::one_f_one_b;
constexpr auto kInterleaved = PipelineSchedule::interleaved;

// The bubble of p ranks and m micro-batches: (p - 1)(F + B), over v where chunks are interleaved.
TEST(Pipeline, ClosedFormsHold) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> any(0.2, 2);
  for (int p : {2, 3, 4, 8, 16})
    for (int k : {1, 2, 3, 5}) {
      int m = p * k;
      Passes passes{any(random), any(random), any(random)};
      double whole = (m + p - 1) * passes.sum();
      EXPECT_NEAR(step({PipelineSchedule::gpipe, p, 1, m}, passes), whole, 1e-12 * whole);
      EXPECT_NEAR(step({k1F1B, p, 1, m}, passes), whole, 1e-12 * whole);
      for (int v : {2, 3, 4}) {
        double less = (m + (p - 1.0) / v) * passes.sum();
        EXPECT_NEAR(step({kInterleaved, p, v, m}, passes), less, 1e-12 * less) << p << ' ' << m << ' ' << v;
      }
    }
}

// ZB-H1: (p - 1)(F + I - W), where W is no longer than F and I and there are 2p - 1 micro-batches or more.
TEST(Pipeline, ZeroBubblesClosedForm) {
  std::mt19937 random(2);
  std::uniform_real_distribution<double> any(0.3, 2), share(0.05, 1);
  for (int p : {2, 3, 4, 8})
    for (int m : {2 * p - 1, 2 * p, 4 * p}) {
      Passes passes{any(random), any(random), 0};
      passes.weight_gradient = share(random) * std::min(passes.forward, passes.input_gradient);
      double whole =
          m * passes.sum() + (p - 1) * (passes.forward + passes.input_gradient - passes.weight_gradient);
      EXPECT_NEAR(step({PipelineSchedule::zero_bubble, p, 1, m}, passes), whole, 1e-12 * whole);
    }
}

// Four ranks, eight micro-batches, each pass a second (a chunk of interleaved half of it).
TEST(Pipeline, TheSchedulesSideBySide) {
  EXPECT_DOUBLE_EQ(step({PipelineSchedule::gpipe, 4, 1, 8}, {}), 33);
  EXPECT_DOUBLE_EQ(step({k1F1B, 4, 1, 8}, {}), 33);
  EXPECT_DOUBLE_EQ(step({kInterleaved, 4, 2, 8}, {}), 28.5);
  EXPECT_DOUBLE_EQ(step({PipelineSchedule::zero_bubble, 4, 1, 8}, {}), 27);
  EXPECT_DOUBLE_EQ(step({PipelineSchedule::dualpipe, 4, 2, 8}, {}), 26);
}

// By how much a step grows with a message, F = 1 and B = 2.
double slope(const PipelineShape& shape, MessageOverlap messages) {
  Passes passes{1, 1, 1};
  return (step(shape, passes, 1e-3, messages) - step(shape, passes, 0, messages)) / 1e-3;
}

// 1F1B never hides its messages: two of them are on the way of every micro-batch. Interleaved passes that
// overlap them are longer by those of filling and draining only, 2 (p v - 1); in calls of four by ((m + p) v
// + p - 3).
TEST(Pipeline, WhatMessagesCost) {
  EXPECT_NEAR(slope({k1F1B, 4, 1, 8}, MessageOverlap::overlapped), 16, 1e-6);
  EXPECT_NEAR(slope({k1F1B, 4, 1, 8}, MessageOverlap::blocking), 19, 1e-6);
  EXPECT_NEAR(slope({k1F1B, 8, 1, 32}, MessageOverlap::overlapped), 68, 1e-6);
  EXPECT_NEAR(slope({k1F1B, 8, 1, 32}, MessageOverlap::blocking), 75, 1e-6);
  EXPECT_NEAR(slope({k1F1B, 16, 1, 64}, MessageOverlap::overlapped), 148, 1e-6);
  EXPECT_NEAR(slope({k1F1B, 16, 1, 64}, MessageOverlap::blocking), 155, 1e-6);
  for (auto [p, m] : {std::pair{4, 8}, {8, 32}})
    for (int v : {2, 3, 4}) {
      EXPECT_NEAR(slope({kInterleaved, p, v, m}, MessageOverlap::overlapped), 2 * (p * v - 1), 1e-6);
      EXPECT_NEAR(slope({kInterleaved, p, v, m}, MessageOverlap::fused), (m + p) * v + p - 3, 1e-6);
    }
}

// Of stages that differ: max over r of m c_r and what comes before it, and the sum with m - 1 of the slowest.
TEST(Pipeline, UnevenStagesAreWithinTheirBounds) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> forward(0.5, 1.5), backward(1, 3);
  for (int i = 0; i < 200; ++i) {
    int p = 2 + 2 * static_cast<int>(random() % 4), m = p * (1 + static_cast<int>(random() % 4));
    auto plan = plan_of({k1F1B, p, 1, m}, {}, MessageOverlap::overlapped);
    double sum = 0, slowest = 0, least = 0;
    for (auto& of_rank : plan.times) {
      of_rank[0] = {Seconds(forward(random)), {}, Seconds(backward(random)), {}};
      double both = (of_rank[0].forward + of_rank[0].input_gradient).value();
      least = std::max(least, m * both + sum);
      sum += both;
      slowest = std::max(slowest, both);
    }
    double took = replayed(plan, programs_of(plan), 0).value();
    EXPECT_GE(took, least * (1 - 1e-12));
    EXPECT_LE(took, (sum + (m - 1) * slowest) * (1 + 1e-12));
  }
}

// Gradients are reduced while the pipeline drains: the last rank's are there before the first's.
TEST(Pipeline, ReductionsRunWhileItDrains) {
  auto plan = plan_of({k1F1B, 4, 1, 8}, {}, MessageOverlap::overlapped);
  plan.joined = {2};
  EXPECT_DOUBLE_EQ(replayed(plan, programs_of(plan), 0).value(), 33);
  // With messages as long as reductions: 16 more for the messages of 1F1B, and the first rank's reduction.
  double message = 0.125;
  double took = replayed(plan, programs_of(plan), message).value();
  EXPECT_NEAR(took, 33 + 17 * message, 1e-9);
}

// Of one rank nothing is exchanged: the optimizer waits for the last pass alone.
TEST(Pipeline, OneRankReducesNothing) {
  auto plan = plan_of({k1F1B, 4, 1, 8}, {}, MessageOverlap::overlapped);
  plan.joined = {1};
  auto programs = programs_of(plan);
  EXPECT_DOUBLE_EQ(replayed(plan, programs, 0.125).value(), 33 + 16 * 0.125);
  for (const auto& step : programs)
    for (const auto& op : step.program.ops) EXPECT_NE(op.activity, Activity::all_reduce);
  EXPECT_EQ(programs[0].program.communicators, 2U);  // to the next rank, and from it
}

// All forward passes first on rank 0, in turns with backward passes on rank 1: that one's second call waits
// for the first gradient to be received, and rank 0 sends its third output before it receives any.
TEST(Pipeline, CrossedOrdersHang) {
  auto in_turns = plan_of({k1F1B, 2, 1, 4}, {}, MessageOverlap::blocking);
  auto all_first = in_turns;
  all_first.shape.schedule = PipelineSchedule::gpipe;
  auto programs = programs_of(in_turns);
  programs[0] = programs_of(all_first)[0];
  EXPECT_THAT([&] { replayed(in_turns, programs, 0); },
              ThrowsMessage<InternalError>(HasSubstr("the job hangs: class 0 waits in message 0")));
}

}  // namespace
}  // namespace ddpsim::testing
