// The loop by itself: programs written by hand, collectives that take what a table says.
#include "sim/replay/replay.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/check.hpp"
#include "sim/replay/paced_network.hpp"

namespace ddpsim::testing {
namespace {

using ::testing::HasSubstr;

using ::testing::ThrowsMessage;

// A second a byte.
class SecondAByte : public CollectiveCost {
 public:
  CollectiveDuration alone(Operation, Bytes bytes) override {
    return {Seconds(bytes.value()), Seconds(bytes.value())};
  }
};

Op compute(double seconds, std::vector<std::size_t> after = {}) {
  Op op;
  op.activity = Activity::backward;
  op.duration = Seconds(seconds);
  op.after = std::move(after);
  return op;
}

Op collective(std::size_t communicator, double bytes, std::vector<std::size_t> after,
              Operation operation = Operation::all_reduce) {
  Op op;
  op.kind = Op::Kind::collective;
  op.activity = Activity::all_reduce;
  op.communicator = communicator;
  op.operation = operation;
  op.bytes = Bytes(bytes);
  op.after = std::move(after);
  return op;
}

struct Job {
  std::vector<Program> programs;
  std::vector<std::vector<std::size_t>> communicators;  // of each
  std::size_t n_communicators = 1;
  int in_flight = 1;
  Interference interference = {};
  LinkUses on_links = {};  // of every rank, whose communicators stay within a node

  ReplayResult run() const {
    SecondAByte cost;
    std::vector<ReplayedClass> classes;
    for (std::size_t i = 0; i < programs.size(); ++i)
      classes.push_back({&programs[i], 1, Seconds(0), communicators[i], on_links});
    std::vector<ReplayedCommunicator> all(n_communicators, {{{&cost}}, in_flight});
    auto network = make_timer_network();
    return replay(classes, all, interference, *network);
  }
};

// Two ranks: the collective starts when the later one has launched it, and each waits for it.
TEST(Replay, ACollectiveStartsWithItsLastMember) {
  Program fast{1, {compute(1), collective(0, 3, {0}), compute(1, {1})}};
  Program slow{1, {compute(2), collective(0, 3, {0}), compute(1, {1})}};
  auto result = Job{{fast, slow}, {{0}, {0}}}.run();
  ASSERT_EQ(result.communication[0].size(), 1U);
  EXPECT_EQ(result.communication[0][0].start, Seconds(2));
  EXPECT_EQ(result.communication[0][0].end, Seconds(5));
  for (const auto& one : result.classes) EXPECT_EQ(one.ended.back(), Seconds(6));
  ASSERT_EQ(result.classes[0].compute.size(), 3U);
  EXPECT_EQ(result.classes[0].compute[1].activity, Activity::wait);
  EXPECT_EQ(result.classes[0].compute[1].start, Seconds(1));
}

// 0.3 s after another class's start at -0.1 s is 0.30000000000000004 on its clock: nobody waits for that.
TEST(Replay, AClassStartsWithoutAWait) {
  Program program{0, {compute(1)}};
  SecondAByte cost;
  std::vector<ReplayedClass> classes{{&program, 1, Seconds(-0.1), {}}, {&program, 1, Seconds(0.3), {}}};
  auto network = make_timer_network();
  auto result = replay(classes, {}, {}, *network);
  for (const auto& one : result.classes) {
    ASSERT_EQ(one.compute.size(), 1U);
    EXPECT_NE(one.compute[0].activity, Activity::wait);
  }
  EXPECT_NEAR(result.classes[1].ended[0].value(), 1.3, 1e-15);
}

// One communicator a pair: their collectives run side by side, those of one in launch order.
TEST(Replay, CommunicatorsAreLanesOfTheirOwn) {
  Program program{2,
                  {compute(1), collective(0, 4, {0}), collective(1, 2, {0}), collective(0, 1, {0}),
                   compute(1, {1, 2, 3})}};
  auto result = Job{{program}, {{1, 0}}, 2}.run();
  EXPECT_EQ(result.communication[1][0].end, Seconds(5));  // the program's first is the job's second
  EXPECT_EQ(result.communication[1][1].start, Seconds(5));
  EXPECT_EQ(result.communication[0][0].end, Seconds(3));
  EXPECT_EQ(result.classes[0].ended.back(), Seconds(7));
}

// A rank of two communicators in one pipeline of three ranks: 0 and 1 reduce, then 1 and 2.
TEST(Replay, RanksShareDifferentCommunicators) {
  Program first{1, {compute(1), collective(0, 2, {0})}};
  Program middle{2, {compute(2), collective(0, 2, {0}), compute(1, {1}), collective(1, 3, {2})}};
  Program last{1, {compute(1), collective(0, 3, {0}), compute(0, {1})}};
  auto result = Job{{first, middle, last}, {{0}, {0, 1}, {1}}, 2}.run();
  EXPECT_EQ(result.communication[0][0].end, Seconds(4));
  EXPECT_EQ(result.communication[1][0].start, Seconds(5));
  EXPECT_EQ(result.classes[2].ended.back(), Seconds(8));
}

// s = 1, r = 0.5: from 1 s on compute goes at half its speed and the collective at two thirds. Its 2 s take
// 3, until 4 s; by then 1.5 of the 2 s of compute are done, the rest takes 0.5 s.
TEST(Replay, ComputeAndCollectivesSlowOneAnotherDown) {
  Program program{1, {compute(1), collective(0, 2, {0}), compute(2), compute(0, {1})}};
  auto result = Job{{program}, {{0}}, 1, 1, {1, 0.5}}.run();
  EXPECT_NEAR(result.communication[0][0].end.value(), 4, 1e-12);
  EXPECT_NEAR(result.communication[0][0].lost.value(), 1, 1e-12);
  EXPECT_NEAR(result.classes[0].ended.back().value(), 4.5, 1e-12);
}

// Passes wait for links of their own group a quarter of their time: a collective over the same links takes 5
// s instead of 4, in which the compute beside it gets 4 s done. Together the links carry 4 s of the one and 1
// s of the other in those 5. Over links of another kind neither knows of the other.
TEST(Replay, CollectivesMeetWhatPassesExchange) {
  Program program{1, {collective(0, 4, {}), compute(10), compute(0, {0})}};
  LinkUse quarter{0.25, 0.25};
  auto met = Job{{program}, {{0}}, 1, 1, {}, {.within = quarter, .between = {}}}.run();
  EXPECT_NEAR(met.communication[0][0].end.value(), 5, 1e-12);
  EXPECT_NEAR(met.classes[0].ended.back().value(), 11, 1e-12);
  auto apart = Job{{program}, {{0}}, 1, 1, {}, {.within = {}, .between = quarter}}.run();
  EXPECT_EQ(apart.communication[0][0].end, Seconds(4));
  EXPECT_EQ(apart.classes[0].ended.back(), Seconds(10));
  // Half of it hidden under products: they wait for half as much, and the collective meets all.
  auto hidden = Job{{program}, {{0}}, 1, 1, {}, {.within = {0.125, 0.25}, .between = {}}}.run();
  EXPECT_NEAR(hidden.communication[0][0].end.value(), 5, 1e-12);
  EXPECT_NEAR(hidden.classes[0].ended.back().value(), 5 + 10 - 5 / 1.125, 1e-12);
}

TEST(Replay, AJobThatHangsSaysWhoWaits) {
  // Each of two ranks launches another collective first, and waits for it.
  Program one{2, {collective(0, 1, {}), compute(1, {0}), collective(1, 1, {1}), compute(1, {2})}};
  Program other{2, {collective(1, 1, {}), compute(1, {0}), collective(0, 1, {1}), compute(1, {2})}};
  Job job{{one, other}, {{0, 1}, {0, 1}}, 2};
  EXPECT_THAT(
      [&] { job.run(); },
      ThrowsMessage<InternalError>(HasSubstr(
          "the job hangs: class 0 waits in all_reduce 0 of communicator 0 for class 1, class 1 waits in "
          "all_reduce 0 of communicator 1 for class 0")));
}

// Behind a chain of compute: the second of three ranks waits for the first, whose collective the third lacks.
TEST(Replay, AChainOfWaitsMayEndWithACollectiveThatNobodyLaunches) {
  Program first{2, {collective(0, 1, {}), compute(1, {0}), collective(1, 1, {1}), compute(1, {2})}};
  Program second{1, {collective(0, 1, {}), compute(1, {0})}};
  Program third{1, {compute(1)}};
  Job job{{second, first, third}, {{1}, {0, 1}, {0}}, 2};
  EXPECT_THAT(
      [&] { job.run(); },
      ThrowsMessage<InternalError>(HasSubstr(
          "the job hangs: class 0 waits in all_reduce 0 of communicator 1 for class 1, class 1 waits in "
          "all_reduce 0 of communicator 0 for class 2, which has no such")));
}

TEST(Replay, MembersLaunchTheSameCollectives) {
  Program one{1, {collective(0, 1, {})}}, other{1, {collective(0, 1, {}, Operation::broadcast)}};
  Job job{{one, other}, {{0}, {0}}};
  EXPECT_THAT([&] { job.run(); }, ThrowsMessage<InternalError>(
                                      HasSubstr("all_reduce of 1 B for one member and broadcast of 1 B")));
}

// Half the pace from 1 s to 3 s: a timer of 2 s fires at 3 s, a flow of 2 s ends at 3 s.
TEST(PacedNetwork, WhatIsUnderWaySlowsDown) {
  for (bool is_flow : {false, true}) {
    auto network = make_builtin_network(Bytes(1));
    network->add_link(BytesPerSecond(1));
    PacedNetwork paced(*network);
    std::optional<Seconds> end, end_on_his_clock;
    auto done = [&] {
      end = network->now();
      end_on_his_clock = paced.now();
    };
    std::vector<int> route{0};
    if (is_flow)
      paced.transfer(route, Bytes(2), done);
    else
      paced.after(Seconds(2), done);
    network->after(Seconds(1), [&] { paced.set_pace(0.5); });
    network->run();
    EXPECT_NEAR(end->value(), 3, 1e-12);
    EXPECT_NEAR(end_on_his_clock->value(), 2, 1e-12);
  }
}

// At half the pace his 1 s are 2 s of the network: something else at 3 s lets 1 s pass, and not 1.5 s, which
// end with it. Nothing is skipped: what is due comes at its time.
TEST(PacedNetwork, TimePassesAtOnceWhereNothingElseHappens) {
  auto network = make_timer_network();
  PacedNetwork paced(*network);
  std::vector<double> times;
  network->after(Seconds(3), [&] { times.push_back(network->now().value()); });
  network->after(Seconds(0), [&] {
    paced.set_pace(0.5);
    EXPECT_FALSE(paced.pass(Seconds(1.5)));
    EXPECT_EQ(network->now(), Seconds(0));
    EXPECT_TRUE(paced.pass(Seconds(1)));
    EXPECT_EQ(network->now(), Seconds(2));
    EXPECT_EQ(paced.now(), Seconds(1));
    EXPECT_FALSE(paced.pass(Seconds(0.75)));
    paced.after(Seconds(0.25), [&] { times.push_back(network->now().value()); });
  });
  network->run();
  EXPECT_EQ(times, (std::vector<double>{2.5, 3}));
  // Networks whose links are shared let nothing pass: somebody may come.
  EXPECT_FALSE(make_builtin_network(Bytes(1))->pass(Seconds(1)));
}

Op beside(double seconds, std::vector<std::size_t> after = {}) {
  auto op = compute(seconds, std::move(after));
  op.activity = Activity::copy_in;
  op.lane = 1;
  return op;
}

// Two streams of a GPU that are at work get half of it each: together they take what they would in turn.
TEST(Replay, LanesShareTheGpu) {
  auto result = Job{{{1, {compute(1), beside(1)}}}, {{0}}}.run();
  EXPECT_EQ(result.classes[0].ended[0], Seconds(2));
  EXPECT_EQ(result.classes[0].ended[1], Seconds(2));
  EXPECT_EQ(result.classes[0].compute.front().lost, Seconds(0)) << "the GPU worked all the time";
  ASSERT_EQ(result.classes[0].others.size(), 1U);
  ASSERT_EQ(result.classes[0].others[0].size(), 1U);
  EXPECT_EQ(result.classes[0].others[0][0].activity, Activity::copy_in);
  EXPECT_EQ(result.classes[0].others[0][0].end, Seconds(2));
}

// 3 s alone, beside a copy that waited for the collective, and for the copy: 4 + 1 + 1 s of work without a
// gap.
TEST(Replay, ALaneWaitsWhileAnotherWorks) {
  auto result = Job{{{1, {compute(4), collective(0, 3, {}), beside(1, {1}), compute(1, {2})}}}, {{0}}}.run();
  EXPECT_EQ(result.classes[0].ended[2], Seconds(5));
  EXPECT_EQ(result.classes[0].ended[0], Seconds(5));
  EXPECT_EQ(result.classes[0].ended[3], Seconds(6));
  EXPECT_EQ(result.classes[0].others[0][0].start, Seconds(3));
}

// Waiting for another stream of one's own is no communication.
TEST(Replay, AWaitForALaneIsThatLanesWork) {
  auto result = Job{{{1, {beside(1), compute(1, {0})}}}, {{0}}}.run();
  ASSERT_EQ(result.classes[0].compute.size(), 2U);
  EXPECT_EQ(result.classes[0].compute[0].activity, Activity::copy_in);
  EXPECT_EQ(result.classes[0].compute[1].start, Seconds(1));
}

// Ops that take no time on one lane let another go on, and chains of them.
TEST(Replay, LanesUnblockOneAnotherAtOnce) {
  auto result =
      Job{{{1, {beside(0), compute(1, {0}), beside(0, {1}), compute(0, {2}), beside(2, {3})}}}, {{0}}}.run();
  EXPECT_EQ(result.classes[0].ended[1], Seconds(1));
  EXPECT_EQ(result.classes[0].ended[4], Seconds(3));
}

// A collective beside them slows both, and it is that which they lose: 1 s of work each, half as fast for
// being two and again for the collective.
TEST(Replay, LanesAndCollectivesSlowOneAnother) {
  Job job{{{1, {collective(0, 100, {}), compute(1), beside(1)}}}, {{0}}};
  job.interference = {1, 0};
  auto result = job.run();
  EXPECT_EQ(result.classes[0].ended[1], Seconds(4));
  EXPECT_EQ(result.classes[0].compute.front().lost, Seconds(2));
}

}  // namespace
}  // namespace ddpsim::testing
