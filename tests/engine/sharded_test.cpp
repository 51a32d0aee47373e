// What must hold of any step of ZeRO and of Megatron's distributed optimizer, on random traces.
#include <random>

#include <gtest/gtest.h>

#include "sim/strategies/megatron.hpp"
#include "sim/strategies/zero3.hpp"

#include "tests/engine/scenarios.hpp"
#include "tests/support/plan_input.hpp"

namespace ddpsim::testing {
namespace {

constexpr int kRanks = 4;

// Blocks of a few matrices between an embedding and a norm; nothing is padded: all are multiples of 128.
LayerTrace random_trace(std::mt19937& random) {
  auto below = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most)); };
  auto step = [&] { return Seconds(1e-5 * (1 + below(500))); };
  LayerTrace trace;
  std::vector<std::pair<std::string, std::int64_t>> parameters{{"wte.weight", 128 * (1 + below(20'000))}};
  int blocks = 1 + below(6), matrices = 1 + below(4);
  for (int b = 0; b < blocks; ++b)
    for (int m = 0; m < matrices; ++m)
      parameters.emplace_back("h." + std::to_string(b) + ".m" + std::to_string(m) + ".weight",
                              128 * (1 + below(10'000)));
  parameters.emplace_back("norm.weight", 128);
  std::vector<Seconds> ends;
  Seconds forward, ready;
  for (std::size_t i = 0; i < parameters.size(); ++i) ends.push_back(forward += step());
  for (auto i = parameters.size(); i-- > 0;) {
    ready += step();
    trace.gradients.push_back(
        {parameters[i].first, parameters[i].second, DType::float32, ready, {}, ends[i]});
  }
  trace.forward = forward;
  trace.optimizer = step();
  trace.registration_order = reverse_of_arrival(trace.gradients.size());
  return trace;
}

Scenario scenario_of(const LayerTrace& trace, std::shared_ptr<const StrategyPlan> plan,
                     const std::string& strategy, int steps, RingLink link) {
  auto cluster = ring_cluster(std::vector<RingLink>(kRanks, link));
  auto scenario = base_scenario(trace, Reducer::overlap, {}, kRanks);
  scenario.strategy_plan = std::move(plan);
  scenario.plan = scenario.strategy_plan->reductions(*scenario.trace, steps);
  connect(scenario, cluster, in_rank_order(Algorithm::ring), {all_gpus(*cluster)});
  auto communication = std::make_shared<Communication>(*scenario.communication);
  communication->axes.front().operations = find_strategy(strategy)->communicators({}).front().operations;
  communication->stages.clear();
  fold_traffic(*communication);
  scenario.communication = std::move(communication);
  return scenario;
}

struct Case {
  std::string strategy;
  ZeroOptions zero = {};
  MegatronOptions megatron = {};
};

Scenario scenario_of(const LayerTrace& trace, const Case& one, int steps, RingLink link) {
  auto plan = [&]() -> std::shared_ptr<const StrategyPlan> {
    if (one.strategy == "megatron")
      return std::make_shared<MegatronPlan>(plan_input(trace, kRanks), one.megatron);
    if (one.strategy == "zero3") return std::make_shared<Zero3Plan>(plan_input(trace, kRanks), one.zero);
    return std::make_shared<ZeroPlan>(plan_input(trace, kRanks), one.strategy == "zero1" ? 1 : 2, one.zero);
  };
  return scenario_of(trace, plan(), one.strategy, steps, link);
}

double iteration(const LayerTrace& trace, const Case& one, int steps, RingLink link) {
  return closed_form(scenario_of(trace, one, steps, link)).last_to_finish().duration().value();
}

double compute(const LayerTrace& trace, int steps) {
  return (static_cast<double>(steps) * (*trace.forward + trace.backward()) + *trace.optimizer / kRanks)
      .value();
}

std::vector<Case> random_cases(std::mt19937& random) {
  ZeroOptions zero;
  zero.reduce_bucket_size = 1 + static_cast<std::int64_t>(random() % 3'000'000);
  zero.allgather_bucket_size = 1000 + static_cast<std::int64_t>(random() % 3'000'000);
  zero.prefetch_bucket_size = static_cast<std::int64_t>(random() % 2'000'000);
  zero.max_live_parameters = static_cast<std::int64_t>(random() % 8'000'000);
  zero.max_reuse_distance = static_cast<std::int64_t>(random() % 3'000'000);
  zero.param_persistence_threshold = static_cast<std::int64_t>(random() % 500'000);
  if (random() % 2 == 0) zero.overlap_comm = random() % 2 == 0;
  MegatronOptions megatron;
  megatron.overlap_param_gather = random() % 2 == 0;
  megatron.overlap_grad_reduce = megatron.overlap_param_gather || random() % 2 == 0;
  if (megatron.overlap_grad_reduce)
    megatron.bucket_size = 1 + static_cast<std::int64_t>(random() % 3'000'000);
  return {{"zero1", zero, {}}, {"zero2", zero, {}}, {"zero3", zero, {}}, {"megatron", {}, megatron}};
}

// A free network leaves compute and the optimizer's share, any other one at least that; and never more than
// with all collectives one after the other besides.
TEST(Sharded, BetweenComputeAndNothingHidden) {
  std::mt19937 random(20);
  for (int i = 0; i < 200; ++i) {
    auto trace = random_trace(random);
    int steps = 1 + static_cast<int>(random() % 3);
    for (const auto& one : random_cases(random)) {
      SCOPED_TRACE(std::string(one.strategy) + " of trace " + std::to_string(i));
      double least = compute(trace, steps);
      EXPECT_NEAR(iteration(trace, one, steps, {0, 1e12}) / least, 1, 1e-6);
      auto timeline = closed_form(scenario_of(trace, one, steps, {5, 1}));
      const auto& rank = timeline.last_to_finish();
      Seconds busy;
      for (const auto& span : rank.communication) busy += span.end - span.start;
      EXPECT_GE(rank.duration().value(), least * (1 - 1e-12));
      EXPECT_LE(rank.duration().value(), (least + busy.value()) * (1 + 1e-12));
    }
  }
}

// Reductions that overlap are never slower than those that compute waits for.
TEST(Sharded, OverlapIsNeverSlower) {
  std::mt19937 random(21);
  for (int i = 0; i < 300; ++i) {
    auto trace = random_trace(random);
    for (auto& one : random_cases(random)) {
      if (one.strategy != "zero2" && one.strategy != "zero3") continue;
      one.zero.overlap_comm = true;
      double with = iteration(trace, one, 2, {5, 1});
      one.zero.overlap_comm = false;
      EXPECT_LE(with, iteration(trace, one, 2, {5, 1}) * (1 + 1e-12)) << one.strategy << " of trace " << i;
    }
  }
}

// With nothing hidden ZeRO 3 moves what ZeRO 2 does, and the embedding for the head besides: an all-reduce
// and a gather are a reduce-scatter and two gathers. (Where both overlap ZeRO 3 can be the faster one: ZeRO
// 2's gather after the optimizer hides behind nothing.)
TEST(Sharded, Zero3IsNeverFasterThanZero2WhereNothingIsHidden) {
  std::mt19937 random(22);
  for (int i = 0; i < 300; ++i) {
    auto trace = random_trace(random);
    ZeroOptions options;
    options.reduce_bucket_size = 1 + static_cast<std::int64_t>(random() % 3'000'000);
    options.overlap_comm = false;
    options.prefetch_bucket_size = options.max_reuse_distance = options.param_persistence_threshold = 0;
    for (double latency : {0.0, 5.0})
      EXPECT_GE(iteration(trace, {"zero3", options, {}}, 1, {latency, 1}),
                iteration(trace, {"zero2", options, {}}, 1, {latency, 1}) * (1 - 1e-9))
          << "trace " << i;
  }
}

// Every gradient is reduced once, whatever the buckets are; every parameter is there when its module
// computes.
TEST(Sharded, NothingIsForgotten) {
  std::mt19937 random(23);
  for (int i = 0; i < 300; ++i) {
    auto trace = random_trace(random);
    for (const auto& one : random_cases(random)) {
      auto scenario = scenario_of(trace, one, 1, {5, 1});
      std::vector<int> reduced(trace.gradients.size());
      for (const auto& bucket : scenario.plan.buckets)
        for (auto gradient : bucket.gradients) ++reduced[gradient];
      EXPECT_EQ(std::count(reduced.begin(), reduced.end(), 1), static_cast<std::ptrdiff_t>(reduced.size()));
      auto program = scenario.strategy_plan->program(trace, 1, {}).program;
      check_program(program);
      Bytes gathered;
      for (const auto& op : program.ops)
        if (op.kind == Op::Kind::collective && op.operation == Operation::all_gather) gathered += op.bytes;
      EXPECT_GE(gathered.value(), 2 * static_cast<double>(total_elements(trace)));
    }
  }
}

// The whole simulation, flow by flow, gives what the closed form does.
TEST(Sharded, FlowByFlow) {
  std::mt19937 random(24);
  for (int i = 0; i < 5; ++i) {
    auto trace = random_trace(random);
    for (const auto& one : random_cases(random)) {
      auto scenario = scenario_of(trace, one, 2, {5, 1});
      auto exact = simulate(scenario, Fidelity::exact).last_to_finish().duration();
      EXPECT_NEAR(exact / closed_form(scenario).last_to_finish().duration(), 1, 1e-9)
          << one.strategy << " of trace " << i;
    }
  }
}

}  // namespace
}  // namespace ddpsim::testing
