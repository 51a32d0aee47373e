// A scenario with other values of what nobody measured, against the same said in its keys.
#include "sim/engine/knobs.hpp"

#include <gtest/gtest.h>

#include "sim/config/overrides.hpp"
#include "sim/resolve/resolve.hpp"
#include "sim/study/simulate_once.hpp"

#include "tests/support/temporary_folder.hpp"

namespace ddpsim {
namespace {

class KnobsTest : public ::testing::Test {
 protected:
  Scenario scenario(const std::string& more) {
    auto path = folder_.write("scenario.yaml", "evidence: none\n" + more);
    return resolve(Files(path), config::load_yaml(path, "a scenario"));
  }
  double iteration(const std::string& more, const Knobs& knobs = {}) {
    auto turned = scenario(more);
    turn(turned, knobs);
    return simulate_once(turned).metrics.iteration.value();
  }

  testing::TemporaryFolder folder_;
  std::string trace_ = "workload: {trace: " DDPSIM_SOURCE_DIR "/traces/gpt2-large-a100-bs4.csv}\n";
};

// Half the bandwidth and twice the latency of links are twice the time of collectives.
TEST_F(KnobsTest, ACollectiveTakesLongerLikeSlowerLinks) {
  auto job = trace_ + "physics: none\ncluster: {topology: p4d, world_size: 64}\n";
  EXPECT_NEAR(iteration(job, {.slower = {{"data", 2}}}),
              iteration(job + "collective: {scale: {bandwidth: 0.5, latency: 2}}\n"), 1e-6);
  EXPECT_GT(iteration(job, {.slower = {{"data", 2}}}), 1.001 * iteration(job));
  EXPECT_EQ(iteration(job, {.slower = {{"tensor", 2}}}), iteration(job));
}

// Where groups share links nothing scales those, but each group's flows are as much more.
TEST_F(KnobsTest, SharedLinksCarryAsMuchMore) {
  auto job =
      trace_ +
      "physics: none\ncluster: {topology: p4d, world_size: 16, groups: [{ranks: {from: 0, to: 14, step: "
      "2}}, {ranks: {from: 1, to: 15, step: 2}}]}\ncollective: {algorithm: ring}\n";
  for (std::string fidelity : {"lazy", "folded"}) {
    auto simulated = job + "engine: {fidelity: " + fidelity + "}\n";
    auto usual = scenario(simulated), slower = usual;
    turn(slower, {.slower = {{"data", 3}}});
    auto before = simulate_once(usual).metrics, after = simulate_once(slower).metrics;
    double longer = 0, all = 0;  // of the first collective, which nothing of its own group delays
    longer = (after.buckets.front().end - after.buckets.front().start).value();
    all = (before.buckets.front().end - before.buckets.front().start).value();
    EXPECT_NEAR(longer / all, 3, 1e-6) << fidelity;
  }
}

TEST_F(KnobsTest, AFactorOnComputeIsThatOfTheTrace) {
  auto job = "cluster: {topology: p4d, world_size: 8}\n";
  auto rescaled =
      "workload: {trace: " DDPSIM_SOURCE_DIR "/traces/gpt2-large-a100-bs4.csv, rescale: {factor: 1.2}}\n";
  EXPECT_NEAR(iteration(trace_ + job, {.compute = 1.2}), iteration(rescaled + std::string(job)), 1e-9);
}

// Compute that takes 1.25 times as long is a software of 0.8 of the shares; no share passes the peak.
TEST_F(KnobsTest, AFactorOnComputeIsOneOnShares) {
  auto job = scenario(
      "workload: {model: gpt2-large, micro_batch: 4, sequence: 1024}\ncluster: {topology: dgx-h100, "
      "world_size: "
      "8}\n");
  auto before = job.model_step->software;
  auto slower = job, faster = job;
  turn(slower, {.compute = 1.25, .launches = 2});
  const auto& after = slower.model_step->software;
  EXPECT_NEAR(after.gemm, 0.8 * before.gemm, 1e-12);
  EXPECT_NEAR(after.attention, 0.8 * before.attention, 1e-12);
  EXPECT_NEAR(after.memory, 0.8 * before.memory, 1e-12);
  EXPECT_NEAR(after.host.value(), 2 * before.host.value(), 1e-15);
  turn(faster, {.compute = 0.1});
  EXPECT_EQ(faster.model_step->software.gemm, 1);
  EXPECT_LT(faster.trace->backward(), job.trace->backward());
}

// What passes wait for inside is longer by the axis' factor: the step by what its losses call tensor.
TEST_F(KnobsTest, PassesWaitForSlowerCollectives) {
  auto job = scenario(
      "workload: {model: llama-2-7b, micro_batch: 1, sequence: 4096, framework: "
      "megatron-eager-2021}\ncluster: "
      "{topology: dgx-a100, world_size: 8}\nparallelism: {tensor: 8}\nstrategy: megatron\nphysics: none\n");
  auto slower = job;
  turn(slower, {.slower = {{"tensor", 2}}});
  auto before = simulate_once(job).metrics, after = simulate_once(slower).metrics;
  EXPECT_GT(before.lost_to(LossCause::tensor), Seconds());
  EXPECT_NEAR(after.lost_to(LossCause::tensor) / before.lost_to(LossCause::tensor), 2, 0.05);
  EXPECT_NEAR((after.iteration - before.iteration) / before.lost_to(LossCause::tensor), 1, 0.05);
}

}  // namespace
}  // namespace ddpsim
