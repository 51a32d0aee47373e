// Iterations in which compute and communication slow one another down, derived by hand, and what must hold
// for all of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/result/metrics.hpp"

#include "tests/engine/random_coupled_case.hpp"

namespace ddpsim::testing {
namespace {

// Collectives of a table: as long as it says, whatever the size.
Scenario with_times(LayerTrace trace, Reducer reducer, const DdpOptions& options, double milliseconds,
                    const Physics& physics) {
  auto scenario = base_scenario(std::move(trace), reducer, options, 2);
  Seconds time(milliseconds * 1e-3);
  // Half as many bytes take as long: the line between the two is flat.
  MeasuredCost cost({{Bytes(4), time, time}, {Bytes(1e9), time, time}});
  scenario.measured_table =
      std::make_shared<const MeasuredTable>(MeasuredTable{{{Operation::all_reduce, {cost}}}, 2});
  scenario.fidelity = Fidelity::closed_form;
  scenario.physics = physics;
  return scenario;
}

Timeline run(const Scenario& scenario) {
  return closed_form(scenario);
}

IterationMetrics metrics(const Scenario& scenario) {
  return measure(run(scenario),
                 {*scenario.trace, scenario.plan, scenario.world_size, "measured", "closed_form"});
}

Physics interference(double s, double r) {
  Physics physics;
  physics.interference = {s, r};
  return physics;
}

const Physics kSlowed = interference(0.5, 0.25);

// Gradients at 10 and 30 ms, each reduced by itself in 12 ms; s = 0.5, r = 0.25. The first all-reduce starts
// at 10 ms and progresses at 0.8: until 25 ms, during which 10 of the 20 ms of compute are done; the other 10
// run at full speed until 35 ms. The second one is alone: 35 to 47 ms.
TEST(Coupled, EachSlowsTheOtherDown) {
  auto scenario = with_times(make_trace({1, 1}, {10, 30}), Reducer::overlap, {}, 12, kSlowed);
  auto timeline = run(scenario);
  const auto& rank = timeline.rank_classes.front();
  ASSERT_EQ(rank.communication.size(), 2U);
  EXPECT_NEAR(rank.communication[0].start.value(), 0.010, 1e-12);
  EXPECT_NEAR(rank.communication[0].end.value(), 0.025, 1e-12);
  EXPECT_NEAR(rank.communication[0].lost.value(), 0.003, 1e-12);
  EXPECT_NEAR(rank.communication[1].start.value(), 0.035, 1e-12);
  EXPECT_NEAR(rank.communication[1].end.value(), 0.047, 1e-12);
  EXPECT_EQ(rank.communication[1].lost, Seconds(0));
  ASSERT_EQ(rank.compute.size(), 4U);
  EXPECT_NEAR(rank.compute[1].start.value(), 0.010, 1e-12);  // slowed
  EXPECT_NEAR(rank.compute[1].end.value(), 0.025, 1e-12);
  EXPECT_NEAR(rank.compute[1].lost.value(), 0.005, 1e-12);
  EXPECT_NEAR(rank.compute[2].end.value(), 0.035, 1e-12);
  EXPECT_EQ(rank.compute[3].activity, Activity::wait);
  EXPECT_NEAR(rank.bucket_ready[1].value(), 0.035, 1e-12);
  auto m = metrics(scenario);
  EXPECT_NEAR(m.iteration.value(), 0.047, 1e-12);
  EXPECT_NEAR(m.backward_compute.value(), 0.030, 1e-12);
  EXPECT_NEAR(m.interference.value(), 0.005, 1e-12);
  EXPECT_NEAR(m.exposed_communication.value(), 0.012, 1e-12);
  EXPECT_NEAR(m.communication.value(), 0.027, 1e-12);
  EXPECT_EQ(m.overhead, Seconds(0));
}

// All-reduces of 30 ms: the first lasts while the other 20 ms of compute take 30 (24 of it done by 40 ms) and
// 6 ms more; the second follows at once.
TEST(Coupled, ComputeThatEndsFirstSetsTheCollectiveFree) {
  auto m = metrics(with_times(make_trace({1, 1}, {10, 30}), Reducer::overlap, {}, 30, kSlowed));
  EXPECT_NEAR(m.interference.value(), 0.010, 1e-12);
  EXPECT_NEAR(m.buckets[0].end.value(), 0.046, 1e-12);
  EXPECT_NEAR(m.buckets[1].end.value(), 0.076, 1e-12);
  EXPECT_NEAR(m.exposed_communication.value(), 0.036, 1e-12);
}

TEST(Coupled, NothingRunsBesideWhatComesAfterBackward) {
  for (auto strategy : {Reducer::naive, Reducer::flat}) {
    auto scenario = with_times(make_trace({1, 1}, {10, 30}), strategy, {}, 12, kSlowed);
    auto coupled = metrics(scenario);
    scenario.physics = {};
    EXPECT_NEAR(coupled.iteration.value(), metrics(scenario).iteration.value(), 1e-12);
    EXPECT_EQ(coupled.interference, Seconds(0));
  }
}

Physics passes(double in, double out) {
  Physics physics;
  physics.overheads.pass_bandwidth = BytesPerSecond(1e9);
  physics.overheads.passes = physics.overheads.passes_of_one = {in, out};
  return physics;
}

// 1 MB at 1 GB/s, read and written: 2 ms. Gradients at 10 and 30 ms in one bucket, 12 ms of all-reduce: 10,
// copy to 12, 32, copy to 34, all-reduce to 46, two copies back to 50.
TEST(Coupled, CopiesIntoAndOutOfBuckets) {
  auto m = metrics(with_times(make_trace({1, 1}, {10, 30}), Reducer::ddp, cap(Bytes(1e9)), 12, passes(1, 1)));
  EXPECT_NEAR(m.overhead.value(), 0.008, 1e-12);
  EXPECT_NEAR(m.buckets[0].ready.value(), 0.032, 1e-12);
  EXPECT_NEAR(m.buckets[0].start.value(), 0.034, 1e-12);
  EXPECT_NEAR(m.exposed_communication.value(), 0.012, 1e-12);
  EXPECT_NEAR(m.iteration.value(), 0.050, 1e-12);
}

// The copy out of the first bucket runs while the second is in flight: 22 ms of all-reduce at 10 and 32 ms;
// the first is waited for at 32 (30 computed), copied until 34, the second ends at 54, copied until 56.
TEST(Coupled, CopiesOutOverlapTheNextCollective) {
  auto m = metrics(with_times(make_trace({1, 1}, {10, 30}), Reducer::ddp, cap(Bytes(1e6)), 22, passes(0, 1)));
  ASSERT_EQ(m.n_buckets, 2U);
  EXPECT_NEAR(m.overhead.value(), 0.004, 1e-12);
  EXPECT_NEAR(m.exposed_communication.value(), 0.022, 1e-12);
  EXPECT_NEAR(m.tail.value(), 0.026, 1e-12);
  EXPECT_NEAR(m.iteration.value(), 0.056, 1e-12);
}

// One after the other: 30 ms, 12 and 2, 12 and 2. As they become ready: the first is divided while the second
// is in flight.
TEST(Coupled, NaiveAllReducesWaitForTheDivisionBeforeThem) {
  auto trace = make_trace({1, 1}, {10, 30});
  EXPECT_NEAR(metrics(with_times(trace, Reducer::naive, {}, 12, passes(0, 1))).iteration.value(), 0.058,
              1e-12);
  EXPECT_NEAR(metrics(with_times(trace, Reducer::overlap, {}, 12, passes(0, 1))).iteration.value(), 0.044,
              1e-12);
}

// A bucket of two gradients is filled, divided and copied back (2 ms a gradient and pass), one of a single
// gradient is divided: 30 + 4 + 12 + 8; 30, 12, 2.
TEST(Coupled, ABucketOfOneGradientIsThatGradient) {
  auto physics = passes(1, 2);
  physics.overheads.passes_of_one = {0, 1};
  auto trace = make_trace({1, 1}, {10, 30});
  EXPECT_NEAR(metrics(with_times(trace, Reducer::flat, {}, 12, physics)).iteration.value(), 0.054, 1e-12);
  EXPECT_NEAR(metrics(with_times(trace, Reducer::ddp, cap(Bytes(1e6)), 12, physics)).iteration.value(), 0.044,
              1e-12);
}

// Hooks of 1 ms, launches of 2 ms, 3 ms until the first collective has started: gradients at 10 and 30 in
// buckets of their own; launched at 13, in flight (3 ms to start and 12) until 28; the second at 33 + 3 = 36,
// until 48.
TEST(Coupled, HooksLaunchesAndTheFirstStart) {
  Physics physics;
  physics.overheads.gradient = Seconds(1e-3);
  physics.overheads.launch = Seconds(2e-3);
  physics.overheads.first_start = Seconds(3e-3);
  auto m = metrics(with_times(make_trace({1, 1}, {10, 30}), Reducer::overlap, {}, 12, physics));
  EXPECT_NEAR(m.buckets[0].start.value(), 0.013, 1e-12);
  EXPECT_NEAR(m.buckets[0].end.value(), 0.028, 1e-12);
  EXPECT_NEAR(m.buckets[1].start.value(), 0.036, 1e-12);
  EXPECT_NEAR(m.iteration.value(), 0.048, 1e-12);
  EXPECT_NEAR(m.overhead.value(), 0.006, 1e-12);
}

// Ranks 0 and 1 compute 30 and 60 ms; both all-reduces of 12 ms start when rank 1 has launched them: at 20
// ms, slowed down until rank 1 has computed. Rank 0 has computed at 30 + 5 ms.
TEST(Coupled, AStragglerIsWaitedForAndSlowsTheCollective) {
  auto scenario = with_times(make_trace({1, 1}, {10, 30}), Reducer::overlap, {}, 12, kSlowed);
  scenario.groups[0].rank_classes = {{0, 1, 1.0}, {1, 1, 2.0}};
  auto timeline = run(scenario);
  const auto& fast = timeline.rank_classes[0];
  const auto& slow = timeline.rank_classes[1];
  EXPECT_NEAR(slow.communication[0].start.value(), 0.020, 1e-12);
  EXPECT_NEAR(slow.communication[0].end.value(), 0.035, 1e-12);
  EXPECT_NEAR(slow.bucket_ready[1].value(), 0.065, 1e-12);
  EXPECT_NEAR(fast.bucket_ready[1].value(), 0.035, 1e-12);
  EXPECT_NEAR(slow.duration().value(), 0.077, 1e-12);
  EXPECT_NEAR(fast.duration().value(), 0.077, 1e-12);
}

// Random scenarios
// ---------------------------------------------------------------------------------------------------

constexpr unsigned kCases = 300;

TEST(CoupledProperties, NeverFasterThanWithout) {
  for (unsigned seed = 1; seed <= kCases; ++seed) {
    auto scenario = RandomCoupledCase(seed).scenario;
    auto coupled = run(scenario).last_to_finish().duration();
    scenario.physics = {};
    ASSERT_GE(coupled.value(), run(scenario).last_to_finish().duration().value() - 1e-12) << seed;
  }
}

// By the other mechanism: what couples them does not change what they are without it.
TEST(CoupledProperties, AlmostNoInterferenceIsAlmostThePlainModel) {
  for (unsigned seed = 1; seed <= kCases; ++seed) {
    auto scenario = RandomCoupledCase(seed).scenario;
    scenario.physics = interference(1e-15, 0);
    auto coupled = run(scenario);
    scenario.physics = {};
    auto plain = run(scenario);
    ASSERT_EQ(coupled.rank_classes.size(), plain.rank_classes.size());
    for (std::size_t c = 0; c < plain.rank_classes.size(); ++c) {
      const auto& a = coupled.rank_classes[c];
      const auto& b = plain.rank_classes[c];
      ASSERT_NEAR(a.backward_start.value(), b.backward_start.value(), 1e-12);
      ASSERT_NEAR(a.duration().value(), b.duration().value(), 1e-11) << seed;
      ASSERT_EQ(a.communication.size(), b.communication.size());
      for (std::size_t i = 0; i < b.communication.size(); ++i) {
        ASSERT_NEAR(a.communication[i].start.value(), b.communication[i].start.value(), 1e-11) << seed;
        ASSERT_NEAR(a.communication[i].end.value(), b.communication[i].end.value(), 1e-11) << seed;
      }
      for (std::size_t i = 0; i < b.bucket_ready.size(); ++i)
        ASSERT_NEAR(a.bucket_ready[i].value(), b.bucket_ready[i].value(), 1e-11) << seed;
    }
  }
}

// What was done, its time less what was lost, is what there was to do.
TEST(CoupledProperties, TheSumOfProgressIsTheWork) {
  for (unsigned seed = 1; seed <= kCases; ++seed) {
    auto scenario = RandomCoupledCase(seed).scenario;
    auto timeline = run(scenario);
    for (const auto& ranks : timeline.rank_classes) {
      double backward = 0;
      for (std::size_t i = 0; i < ranks.compute.size(); ++i) {
        const auto& span = ranks.compute[i];
        if (span.activity == Activity::backward) backward += (span.end - span.start - span.lost).value();
        ASSERT_GE(span.lost, Seconds(0));
        if (i > 0) {
          ASSERT_NEAR(span.start.value(), ranks.compute[i - 1].end.value(), 1e-12);
        }
      }
      ASSERT_NEAR(backward,
                  ranks.slowdown * scenario.plan.accumulation_steps * scenario.trace->backward().value(),
                  1e-11);
    }
  }
}

}  // namespace
}  // namespace ddpsim::testing
