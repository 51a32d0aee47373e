// Several collectives in flight at once, derived by hand, and what must hold for all of them.
#include <gtest/gtest.h>

#include "sim/result/metrics.hpp"

#include "tests/engine/random_coupled_case.hpp"

namespace ddpsim::testing {
namespace {

// All-reduces of 1 MB that take `latency_ms`, and 10 ms a MB beyond.
Scenario with_workers(const std::vector<double>& ready_ms, double latency_ms, int workers) {
  auto scenario =
      base_scenario(make_trace(std::vector<double>(ready_ms.size(), 1), ready_ms), Reducer::overlap, {}, 2);
  Seconds latency(latency_ms * 1e-3);
  MeasuredCost cost({{Bytes(1), latency + Seconds(1e-8), latency + Seconds(1e-8)},
                     {Bytes(1e6), latency + Seconds(1e-2), latency + Seconds(1e-2)}});
  scenario.measured_table =
      std::make_shared<const MeasuredTable>(MeasuredTable{{{Operation::all_reduce, {cost}}}, 2});
  scenario.fidelity = Fidelity::closed_form;
  scenario.collective_workers = workers;
  return scenario;
}

IterationMetrics metrics(const Scenario& scenario) {
  return measure(closed_form(scenario),
                 {*scenario.trace, scenario.plan, scenario.world_size, "measured", "closed_form"});
}

void expect_in_flight(const BucketMetrics& bucket, double start_ms, double end_ms) {
  EXPECT_NEAR(bucket.start.value(), start_ms * 1e-3, 1e-7) << "bucket " << bucket.index;
  EXPECT_NEAR(bucket.end.value(), end_ms * 1e-3, 1e-7) << "bucket " << bucket.index;
}

// At 10 and 15 ms. By 15 ms half of the first one is through; its other half takes 10 ms of two that share
// the link, until 25 ms; then the second has half of its own to do alone.
TEST(CollectiveWorkers, TransfersShareTheLink) {
  auto m = metrics(with_workers({10, 15}, 0, 2));
  expect_in_flight(m.buckets[0], 10, 25);
  expect_in_flight(m.buckets[1], 15, 30);
  EXPECT_NEAR(m.communication.value(), 0.020, 1e-7);  // one of them is in flight for 20 ms
  EXPECT_NEAR(m.iteration.value(), 0.030, 1e-7);
}

// Each waits 4 ms and transfers 10: the first from 14 ms on, until 19 alone; the second joins it at 15 + 4.
TEST(CollectiveWorkers, LatenciesPassSideBySide) {
  auto m = metrics(with_workers({10, 15}, 4, 2));
  expect_in_flight(m.buckets[0], 10, 29);
  expect_in_flight(m.buckets[1], 15, 34);
  auto one = metrics(with_workers({10, 15}, 4, 1));
  expect_in_flight(one.buckets[0], 10, 24);
  expect_in_flight(one.buckets[1], 24, 38);
}

// Three at 10 ms: the third waits until one of the two is done, at 30 ms.
TEST(CollectiveWorkers, TheOthersWait) {
  auto m = metrics(with_workers({10, 10, 10}, 0, 2));
  expect_in_flight(m.buckets[0], 10, 30);
  expect_in_flight(m.buckets[1], 10, 30);
  expect_in_flight(m.buckets[2], 30, 40);
  auto three = metrics(with_workers({10, 10, 10}, 0, 3));
  for (const auto& bucket : three.buckets) expect_in_flight(bucket, 10, 40);
}

// Two at once and the third behind them: it had to wait, so it takes half as long as one that finds a free
// worker, as the fourth does.
TEST(CollectiveWorkers, WhatHadToWaitTakesItsQueuedTime) {
  auto scenario = with_workers({10, 10, 10, 60}, 0, 2);
  auto table = *scenario.measured_table;
  table.operations.at(Operation::all_reduce).queued =
      MeasuredCost({{Bytes(1), Seconds(1e-8), Seconds(1e-8)}, {Bytes(1e6), Seconds(5e-3), Seconds(5e-3)}});
  scenario.measured_table = std::make_shared<const MeasuredTable>(table);
  auto m = metrics(scenario);
  expect_in_flight(m.buckets[0], 10, 30);
  expect_in_flight(m.buckets[1], 10, 30);
  expect_in_flight(m.buckets[2], 30, 35);
  expect_in_flight(m.buckets[3], 60, 70);
}

// A small one overtakes a large one, and what waits for it goes on.
TEST(CollectiveWorkers, AShortOneOvertakes) {
  auto scenario = with_workers({10, 15}, 0, 2);
  auto trace = make_trace({1, 0.1}, {10, 15});
  scenario.trace = std::make_shared<const LayerTrace>(trace);
  scenario.plan = make_reduction_plan(trace, Reducer::overlap, {});
  auto m = metrics(scenario);
  expect_in_flight(m.buckets[1], 15, 17);
  expect_in_flight(m.buckets[0], 10, 21);
}

// One at a time is what it was.
TEST(CollectiveWorkers, OneIsThePlainModel) {
  for (double latency : {0.0, 4.0}) {
    auto plain = metrics(with_workers({10, 15, 40}, latency, 1));
    auto scenario = with_workers({10, 15, 40}, latency, 1);
    scenario.physics.interference = {1e-15, 0};
    auto coupled = metrics(scenario);
    for (std::size_t i = 0; i < 3; ++i)
      expect_in_flight(coupled.buckets[i], 1e3 * plain.buckets[i].start.value(),
                       1e3 * plain.buckets[i].end.value());
  }
}

// Compute at 1 / 1.5 while at least one of them is in flight, both of them at 1 / 1.25 while there is
// compute: from 10 ms on, 20 ms of compute take 30. Until 40 ms the two do 24 of their 40 ms.
TEST(CollectiveWorkers, InterferenceIsOfAnyOfThem) {
  auto scenario = with_workers({10, 10, 30}, 0, 2);
  auto trace = make_trace({2, 2, 0.0001}, {10, 10, 30});
  scenario.trace = std::make_shared<const LayerTrace>(trace);
  scenario.plan = make_reduction_plan(trace, Reducer::overlap, {});
  scenario.physics.interference = {0.5, 0.25};
  auto m = metrics(scenario);
  EXPECT_NEAR(m.interference.value(), 0.010, 1e-9);
  EXPECT_NEAR(m.buckets[2].ready.value(), 0.040, 1e-9);
  expect_in_flight(m.buckets[0], 10, 56);
}

// Random cases. Without latencies workers share what one would do alone: everything is done at the same time.
// (But for copies out of buckets, which wait for their bucket.)
TEST(CollectiveWorkersProperties, WithoutLatencyTheLastEndStays) {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    auto scenario = RandomCoupledCase(seed).scenario;
    scenario.physics.overheads = {};
    scenario.communication = nullptr;
    scenario.measured_table = std::make_shared<const MeasuredTable>(
        MeasuredTable{{{Operation::all_reduce,
                        {MeasuredCost({{Bytes(1e6), Seconds(1e-3), Seconds(1e-3)},
                                       {Bytes(2e6), Seconds(2e-3), Seconds(2e-3)}})}}},
                      2});
    auto one = closed_form(scenario).last_to_finish().duration();
    scenario.collective_workers = scenario.plan.reducer == Reducer::naive ? 1 : 3;
    auto three = closed_form(scenario).last_to_finish().duration();
    // Every transfer's last byte counts as latency: 1 ns each.
    ASSERT_NEAR(one.value(), three.value(), 1e-9 * static_cast<double>(scenario.plan.buckets.size() + 1))
        << "seed " << seed;
  }
}

TEST(CollectiveWorkersProperties, WithLatencyMoreAreNeverSlower) {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    auto scenario = RandomCoupledCase(seed).scenario;
    scenario.physics = {};
    Seconds last(1e9);
    for (int workers : {1, 2, 4}) {
      scenario.collective_workers = workers;
      auto duration = closed_form(scenario).last_to_finish().duration();
      ASSERT_LE(duration.value(), last.value() * (1 + 1e-12)) << "seed " << seed;
      last = duration;
    }
  }
}

// On links two rings take turns, one sending while the other waits for a latency: somewhat faster than the
// closed form has it, which lets all latency pass first.
TEST(CollectiveWorkersProperties, EverySimulationGivesTheSame) {
  auto scenario = make_scenario(trace_of_125(), std::vector<RingLink>(8, {500, 12.5}), Reducer::ddp, {});
  scenario.collective_workers = 2;
  auto duration = [&](Fidelity fidelity) {
    return simulate(scenario, fidelity).last_to_finish().duration().value();
  };
  double exact = duration(Fidelity::exact);
  for (auto fidelity : {Fidelity::folded, Fidelity::lazy})
    EXPECT_NEAR(duration(fidelity), exact, 1e-9) << fidelity_name(fidelity);
  EXPECT_NEAR(duration(Fidelity::closed_form), exact, 0.05 * exact);
}

}  // namespace
}  // namespace ddpsim::testing
