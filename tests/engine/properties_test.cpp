// What must hold for every scenario, however random.
#include <random>

#include <gtest/gtest.h>

#include "sim/collective/time_alone.hpp"

#include "tests/engine/scenarios.hpp"
#include "tests/support/launch_times.hpp"

namespace ddpsim::testing {
namespace {

struct RandomCase {
  std::vector<double> sizes, ready;
  std::vector<RingLink> links;
  Reducer strategy;
  DdpOptions options;
  std::vector<RankClass> classes;

  explicit RandomCase(unsigned seed) {
    std::mt19937 random(seed);
    auto uniform = [&](double low, double high) { return std::uniform_real_distribution(low, high)(random); };
    double time = 0;
    for (int i = std::uniform_int_distribution(1, 40)(random); i > 0; --i) {
      sizes.push_back(std::pow(10.0, uniform(-5.3, 2)));
      ready.push_back(time += uniform(0, 3));
    }
    links.resize(std::uniform_int_distribution<std::size_t>(2, 200)(random),
                 {uniform(0, 20), uniform(1, 100)});
    if (uniform(0, 1) < 0.5) links[0].bandwidth_GBps /= 3;
    strategy = static_cast<Reducer>(std::uniform_int_distribution(0, 3)(random));
    if (strategy == Reducer::ddp) options = cap(Bytes(std::round(uniform(1, 1e8))));
    options.accumulation_steps = std::uniform_int_distribution(1, 3)(random);
    int n = static_cast<int>(links.size());
    classes = {{0, n, 1.0}};
    if (uniform(0, 1) < 0.5) classes = {{0, n - 1, 1.0}, {1, 1, uniform(1, 2)}};
  }

  [[nodiscard]] Scenario scenario() const {
    auto trace = make_trace(sizes, ready);
    trace.forward = Seconds(4e-3);
    trace.optimizer = Seconds(1e-3);
    Scenario result = make_scenario(trace, links, strategy, options);
    result.groups[0].rank_classes = classes;
    return result;
  }
};

constexpr unsigned kCases = 300;

TEST(Properties, SpansFollowTheirCausesAndLanesAreSerial) {
  for (unsigned seed = 1; seed <= kCases; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    auto scenario = RandomCase(seed).scenario();
    auto timeline = closed_form(scenario);
    for (const auto& ranks : timeline.rank_classes) {
      for (std::size_t i = 0; i < ranks.communication.size(); ++i) {
        const auto& span = ranks.communication[i];
        ASSERT_GE(span.start.value(), ranks.bucket_ready[span.index].value() - 1e-12);
        ASSERT_GT(span.end, span.start);
        if (i > 0) {
          ASSERT_GE(span.start, ranks.communication[i - 1].end);
        }
      }
      for (std::size_t i = 1; i < ranks.compute.size(); ++i)
        ASSERT_NEAR(ranks.compute[i].start.value(), ranks.compute[i - 1].end.value(), 1e-12);
    }
  }
}

TEST(Properties, ExposedCommunicationIsAtMostAllCommunicationOnTheLastRank) {
  for (unsigned seed = 1; seed <= kCases; ++seed) {
    auto timeline = closed_form(RandomCase(seed).scenario());
    const auto& ranks = timeline.last_to_finish();
    double exposed = 0, total = 0;
    for (const auto& span : ranks.compute)
      if (span.activity == Activity::wait) exposed += (span.end - span.start).value();
    for (const auto& span : ranks.communication) total += (span.end - span.start).value();
    ASSERT_LE(exposed, total * (1 + 1e-9)) << "seed " << seed;
  }
}

TEST(Properties, MoreBandwidthNeverHurts) {
  for (unsigned seed = 1; seed <= kCases; ++seed) {
    RandomCase slow(seed), fast(seed);
    for (auto& link : fast.links) link.bandwidth_GBps *= 1.5;
    auto end = [](const RandomCase& c) {
      return closed_form(c.scenario()).last_to_finish().compute.back().end.value();
    };
    ASSERT_LE(end(fast), end(slow) * (1 + 1e-12)) << "seed " << seed;
  }
}

TEST(Properties, NoStrategyBeatsItsOwnComputeOrItsOwnCommunication) {
  for (unsigned seed = 1; seed <= kCases; ++seed) {
    auto scenario = RandomCase(seed).scenario();
    auto timeline = closed_form(scenario);
    const auto& last = timeline.last_to_finish().communication.back();
    const auto& traffic = scenario.communication->folded.value();
    CollectiveTime time(traffic.groups[0].plan, traffic.links);
    double all = 0;
    for (const auto& bucket : scenario.plan.buckets) all += time(bucket.wire).value();
    auto launches = bucket_launch_times(*scenario.trace, scenario.plan);
    const auto& slowest = scenario.groups[0].slowest_class();
    Seconds first = slowest.slowdown * launches.front(), latest = slowest.slowdown * launches.back();
    ASSERT_GE((last.end - first).value(), all * (1 - 1e-12)) << "seed " << seed;
    ASSERT_GE(last.end.value(), latest.value() * (1 - 1e-12)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace ddpsim::testing
