// Random scenarios, valid by construction, from their text to their result: what must hold of each. Case n is
// the same everywhere; DDPSIM_FUZZ_SCENARIOS says how many (scripts/fuzz: many).
#include <chrono>
#include <cstdlib>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sim/resolve/resolve.hpp"
#include "sim/study/simulate_once.hpp"

#include "tests/support/draws.hpp"

namespace ddpsim {
namespace {

constexpr unsigned kCases = 60;
constexpr double kRounding = 1e-9;

using testing::Draws;

struct RandomScenario {
  std::string text;
  bool textbook = false;  // no physics, a ring, nothing that varies: more bandwidth cannot hurt
  bool shares_links = false;

  explicit RandomScenario(unsigned seed) {
    Draws draw(seed);
    shares_links = draw.one_of({true, false, false});
    bool of_model = !shares_links && draw.one_of({true, false});
    auto strategy = of_model ? draw.one_of({"ddp", "flat", "overlap", "fsdp", "zero1", "zero2", "zero3"})
                             : draw.one_of({"ddp", "ddp", "naive", "flat", "overlap"});
    if (of_model) {
      auto model = draw.one_of({"gpt2", "gpt2-medium"});
      int micro_batch = draw.one_of({1, 4}), sequence = draw.one_of({256, 1024});
      text = fmt::format("workload: {{model: {}, micro_batch: {}, sequence: {}, dtype: bf16}}\n", model,
                         micro_batch, sequence);
    } else {
      auto trace = draw.one_of({"gpt2-large-a100-bs4", "resnet50-2xa100", "gpt2-cpu"});
      text = fmt::format("workload: {{trace: ../traces/{}.csv}}\n", trace);
    }
    int ranks = draw.one_of({8, 16, 32});
    auto topology =
        shares_links ? "pcie-8gpu" : draw.one_of({"dgx-h100", "dgx-a100", "p4d", "superpod-h100"});
    text += fmt::format("cluster:\n  topology: {}\n  world_size: {}\n", topology, ranks);
    if (shares_links)
      text += fmt::format(
          "  groups:\n    - ranks: {{from: 0, to: {}, step: 2}}\n    - ranks: {{from: 1, to: {}, step: 2}}\n "
          "     offset: {}ms\n",
          ranks - 2, ranks - 1, draw.one_of({0, 1, 50}));
    text += fmt::format("strategy: {}\n", strategy);
    if (std::string_view(strategy) == "ddp")
      text += fmt::format("ddp: {{bucket_cap: {}}}\n", draw.one_of({"1MiB", "7MB", "25MiB", "1GiB"}));
    textbook = shares_links || draw.one_of({true, false});
    if (textbook)
      text += "collective: {algorithm: ring}\nphysics: none\n";
    else if (draw.one_of({true, false}))
      text += fmt::format("variability: {{seed: {}, iterations: 5, jitter: 0.03, ranks: 0.01}}\n", seed);
  }

  [[nodiscard]] Scenario read(const LinkScale& links = {}) const {
    return resolve(Files(DDPSIM_SOURCE_DIR "/configs/random.yaml", links),
                   config::parse_yaml({make_source("random", text), text}, "a scenario"));
  }
};

void check_timeline(const Timeline& timeline) {
  for (const auto& ranks : timeline.rank_classes) {
    for (std::size_t i = 1; i < ranks.compute.size(); ++i)
      EXPECT_GE(ranks.compute[i].start.value(), ranks.compute[i - 1].end.value() - kRounding);
    for (const auto& span : ranks.communication) {
      EXPECT_GE(span.end, span.start);
      if (span.activity == Activity::all_reduce) {
        EXPECT_GE(span.start.value(), ranks.bucket_ready.at(span.index).value() - kRounding);
      }
    }
  }
}

void check_terms(const IterationMetrics& metrics) {
  auto terms = metrics.forward + metrics.backward_compute + metrics.interference + metrics.overhead +
               metrics.bubble + metrics.exposed_communication + metrics.optimizer;
  EXPECT_NEAR(terms / metrics.iteration, 1, kRounding);
  EXPECT_GE(metrics.iteration, metrics.forward + metrics.backward_compute);
  Seconds lost;
  for (const auto& loss : metrics.losses) lost = lost + loss.seconds;
  auto usual = (metrics.forward + metrics.backward_compute) / metrics.slowdown;
  EXPECT_NEAR((usual + lost) / metrics.iteration, 1, kRounding);
  EXPECT_GE(metrics.communication.value() * (1 + kRounding), metrics.exposed_communication.value());
}

TEST(RandomScenarios, KeepTheirPromises) {
  const char* asked = std::getenv("DDPSIM_FUZZ_SCENARIOS");
  const unsigned cases = asked ? static_cast<unsigned>(std::atoi(asked)) : kCases;
  ASSERT_GT(cases, 0u);
  for (unsigned seed = 1; seed <= cases && !HasFailure(); ++seed) {
    RandomScenario random(seed);
    SCOPED_TRACE(fmt::format("case {}\n{}", seed, random.text));
    auto began = std::chrono::steady_clock::now();
    auto scenario = random.read();
    scenario.network = SharedNetwork::builtin;
    auto simulated = simulate_once(scenario);
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(5));
    check_timeline(simulated.prediction.timeline);
    check_terms(simulated.metrics);
    auto iteration = simulated.metrics.iteration;
    if (scenario.shares_links()) {
      scenario.network = SharedNetwork::simgrid;
      EXPECT_NEAR(simulate_once(scenario).metrics.iteration / iteration, 1, 1e-6);
    }
    if (random.textbook) {
      auto faster = random.read({.bandwidth = 1.5, .latency = 1});
      faster.network = SharedNetwork::builtin;
      EXPECT_LE(simulate_once(faster).metrics.iteration.value(), iteration.value() * (1 + kRounding));
    }
  }
}

}  // namespace
}  // namespace ddpsim
