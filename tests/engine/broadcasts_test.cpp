// Broadcasts of DDP: of buffers before forward, of everything once.
#include "sim/engine/broadcasts.hpp"

#include <gtest/gtest.h>

#include "sim/resolve/plausibility.hpp"
#include "sim/result/metrics.hpp"

#include "tests/engine/nccl_scenarios.hpp"

namespace ddpsim::testing {
namespace {

// 0.2 GB/s each way between two ranks; 1 MB all-reduced in 5 ms, the last one exposed.
Scenario two_ranks(DdpOptions options = cap(Bytes(1))) {
  auto trace = make_trace({1, 1}, {10, 30});
  trace.forward = Seconds(0.02);
  return make_scenario(std::move(trace), {{0, 0.2}, {0, 0.2}}, Reducer::ddp, options);
}

Seconds broadcast_time(const Scenario& scenario, Bytes bytes) {
  return costs_of(scenario).front().cost->alone(Operation::broadcast, bytes).idle;
}

DdpOptions with_buffers(std::vector<Bytes> sizes) {
  auto options = cap(Bytes(1));
  options.broadcast_buffers = std::move(sizes);
  return options;
}

IterationMetrics metrics_of(const Scenario& scenario, Fidelity fidelity = Fidelity::closed_form) {
  auto timeline = simulate(scenario, fidelity);
  return measure(timeline, {*scenario.trace, scenario.plan, scenario.world_size, "ring", "closed_form"});
}

// 1 MB and 0.2 MB over one hop of 0.2 GB/s: 5 ms and 1 ms, one after the other, before forward.
TEST(Broadcasts, BuffersComeBeforeForward) {
  auto without = metrics_of(two_ranks());
  for (auto fidelity : {Fidelity::closed_form, Fidelity::lazy, Fidelity::exact}) {
    auto m = metrics_of(two_ranks(with_buffers({Bytes(1e6), Bytes(0.2e6)})), fidelity);
    EXPECT_NEAR(m.buffer_broadcast.value(), 0.006, 1e-12);
    EXPECT_NEAR((m.iteration - without.iteration).value(), 0.006, 1e-9);
    EXPECT_NEAR((m.exposed_communication - without.exposed_communication).value(), 0.006, 1e-9);
    EXPECT_NEAR((m.communication - without.communication).value(), 0.006, 1e-9);
    EXPECT_NEAR(m.algbw / without.algbw, 1, 1e-9);  // all-reduces only
    EXPECT_EQ(m.buckets.size(), 2U);
  }
}

TEST(Broadcasts, TheTracesBuffersUnlessTheOptionsSayOtherwise) {
  auto trace = make_trace({1}, {10});
  trace.buffers = {Bytes(424)};
  EXPECT_EQ(make_reduction_plan(trace, Reducer::ddp, {}).buffer_broadcasts, trace.buffers);
  EXPECT_TRUE(make_reduction_plan(trace, Reducer::ddp, with_buffers({})).buffer_broadcasts.empty());
  EXPECT_TRUE(make_reduction_plan(trace, Reducer::flat, {}).buffer_broadcasts.empty());
}

// Accumulated micro-batches wait for one broadcast: under no_sync there is none.
TEST(Broadcasts, OnceAStep) {
  auto options = with_buffers({Bytes(1e6)});
  options.accumulation_steps = 3;
  EXPECT_NEAR(metrics_of(two_ranks(options)).buffer_broadcast.value(), 0.005, 1e-12);
}

// Four ranks in a ring: 4 of the 6 steps of a quarter each, 4 x 1.25 ms.
TEST(Broadcasts, OverRings) {
  auto scenario =
      make_scenario(make_trace({1}, {10}), std::vector<RingLink>(4, {0, 0.2}), Reducer::ddp, cap(Bytes(1)));
  EXPECT_NEAR(broadcast_time(scenario, Bytes(1e6)).value(), 0.005, 1e-12);
}

// Of two ranks a broadcast is one step of the two that a ring all-reduce of half the bytes each has.
TEST(Broadcasts, FromAMeasuredTable) {
  auto scenario = two_ranks();
  scenario.communication = nullptr;
  scenario.measured_table = std::make_shared<const MeasuredTable>(MeasuredTable{
      {{Operation::all_reduce, {MeasuredCost({{Bytes(1e6), Seconds(0.01), Seconds(0.01)}})}}}, 2});
  EXPECT_DOUBLE_EQ(broadcast_time(scenario, Bytes(1e6)).value(), 0.01);
  scenario.groups.front().ranks = 4;  // 4 of 6 steps
  EXPECT_DOUBLE_EQ(broadcast_time(scenario, Bytes(1e6)).value(), 0.01 * 4 / 6);
}

// Eight ranks of a DGX H100 under NCCL's model, which knows broadcasts; half of its latency is less.
TEST(Broadcasts, UnderNcclsModel) {
  NcclCase test;
  test.world_size = 8;
  auto scenario = test.read();
  const auto& model = *scenario.communication->nccl.front();
  auto time = broadcast_time(scenario, Bytes(1e6));
  EXPECT_EQ(time, model.choose(Bytes(1e6), Operation::broadcast).time);
  EXPECT_GT(time, Seconds(0));
  auto faster = model.scaled({0.5, 1});
  EXPECT_LT(faster.choose(Bytes(1e6), Operation::broadcast).time, time);
}

// What single all-reduces of a run took says nothing of broadcasts.
TEST(Broadcasts, LeftOutOfAReplay) {
  auto scenario = two_ranks(with_buffers({Bytes(1e6)}));
  scenario.communication = nullptr;
  scenario.measured_table = std::make_shared<const MeasuredTable>(MeasuredTable{
      {{Operation::all_reduce, {MeasuredCost({{Bytes(1e6), Seconds(0.01), Seconds(0.01)}}, Pooling::none)}}},
      2});
  settle_broadcasts(scenario);
  EXPECT_TRUE(scenario.plan.buffer_broadcasts.empty());
  ASSERT_EQ(scenario.notes.size(), 1U);
  EXPECT_EQ(scenario.notes.front().code, "buffers-left-out");
  EXPECT_TRUE((ScenarioVariant{&scenario, Bytes(1e6)}).scenario().plan.buffer_broadcasts.empty());
  EXPECT_FALSE(construction_broadcast(scenario));
}

TEST(Broadcasts, EveryIterationWaitsForThem) {
  auto scenario = two_ranks(with_buffers({Bytes(1e6)}));
  SampledRanks sampled;
  sampled.variability.iterations = 2;
  sampled.variability.jitter = LogNormal{};  // something is drawn of the ranks
  sampled.slowest = {{{0, 1.0}}, {{1, 1.5}}};
  scenario.sampled = std::make_shared<const SampledRanks>(sampled);
  auto plain = scenario;
  plain.plan.buffer_broadcasts.clear();
  std::vector<Prediction> predictions;
  run_all(std::vector{scenario, plain}, 1,
          [&](std::size_t, Prediction one) { predictions.push_back(std::move(one)); });
  for (std::size_t i = 0; i < 2; ++i)
    EXPECT_NEAR((predictions[0].iterations[i] - predictions[1].iterations[i]).value(), 0.005, 1e-9);
  EXPECT_NEAR((predictions[0].unvaried - predictions[1].unvaried).value(), 0.005, 1e-9);
}

// 2 MB of parameters in one broadcast, 1 MB of buffers: 10 and 5 ms.
TEST(Broadcasts, AtConstruction) {
  EXPECT_NEAR(construction_broadcast(two_ranks(with_buffers({Bytes(1e6)})))->value(), 0.015, 1e-12);
  auto flat = make_scenario(make_trace({1}, {10}), {{0, 0.2}, {0, 0.2}}, Reducer::flat, {});
  EXPECT_FALSE(construction_broadcast(flat));
}

// float32 buckets are cast to 16 bits: half the bytes on the wire, the buckets of the gradients' own dtype.
TEST(CommHook, HalvesWhatIsReduced) {
  auto options = cap(Bytes(1));
  auto plain = metrics_of(two_ranks(options));
  options.comm_hook = CommHook::fp16;
  auto m = metrics_of(two_ranks(options));
  EXPECT_EQ(m.buckets[0].bytes, plain.buckets[0].bytes);
  EXPECT_EQ(m.buckets[0].wire, Bytes(0.5e6));
  EXPECT_NEAR(m.communication / plain.communication, 0.5, 1e-9);
  EXPECT_NEAR(m.algbw / plain.algbw, 1, 1e-9);
}

// 1 GB/s: a pass over 1 MB of float32 takes 2 ms; the cast reads 1 and writes 0.5 MB, 1.5 ms, and the
// division goes over 0.5 MB, 1 ms; afterwards the cast back, 1.5 ms. Of two buckets 2 x 4 ms more.
TEST(CommHook, CastsTakePasses) {
  auto overhead = [](CommHook hook, DType dtype) {
    auto trace = make_trace({1, 1}, {10, 30});
    for (auto& gradient : trace.gradients) gradient.dtype = dtype;
    auto options = cap(Bytes(1));
    options.comm_hook = hook;
    auto scenario = make_scenario(std::move(trace), {{0, 0.2}, {0, 0.2}}, Reducer::ddp, options);
    auto& overheads = scenario.physics.overheads;
    overheads.pass_bandwidth = BytesPerSecond(1e9);
    overheads.passes = overheads.passes_of_one = {1, 1};
    overheads.compresses = hook != CommHook::none;
    return metrics_of(scenario).overhead.value();
  };
  EXPECT_NEAR(overhead(CommHook::none, DType::float32), 0.008, 1e-12);
  EXPECT_NEAR(overhead(CommHook::bf16, DType::float32), 0.016, 1e-12);
  // 0.5 MB of 16 bits: nothing to cast, 1 ms for the division.
  EXPECT_NEAR(overhead(CommHook::fp16, DType::float16), 0.004 + 0.002, 1e-12);
}

}  // namespace
}  // namespace ddpsim::testing
