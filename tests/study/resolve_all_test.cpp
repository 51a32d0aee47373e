// Jobs that are resolved together, in threads, are as each of them is alone.
#include "sim/study/resolve_all.hpp"

#include <gtest/gtest.h>

#include "sim/study/simulate_once.hpp"

#include "tests/config/text.hpp"

namespace ddpsim::testing {
namespace {

config::Value job(int tensor, int pipeline, const std::string& strategy) {
  return parse(
      "workload: {model: llama-2-7b, micro_batch: 1, sequence: 2048, dtype: bf16}\n"
      "cluster: {topology: superpod-h100, world_size: 64}\n"
      "parallelism: {tensor: " +
      std::to_string(tensor) + ", pipeline: " + std::to_string(pipeline) +
      "}\nbatch: {global: 128}\nstrategy: " + strategy + "\n");
}

TEST(ResolveAll, AsEachAlone) {
  std::vector<config::Value> jobs;
  for (int tensor : {1, 2, 4})
    for (int pipeline : {2, 4})
      for (const char* strategy : {"ddp", "megatron", "fsdp"})
        jobs.push_back(job(tensor, pipeline, strategy));
  std::vector<const config::Value*> roots;
  for (const auto& one : jobs) roots.push_back(&one);
  Files files("--set");
  auto found = resolve_all(files, roots);
  ASSERT_EQ(found.size(), jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    ASSERT_TRUE(found[i].scenario);
    auto alone = resolve(Files("--set"), jobs[i]);
    EXPECT_EQ(simulate_once(*found[i].scenario).metrics.iteration, simulate_once(alone).metrics.iteration);
    EXPECT_EQ(found[i].scenario->notes, alone.notes);
  }
}

// What files keep of one job is no answer to another that differs where it counts.
void expect_as_alone(const std::vector<std::string>& texts) {
  Files files("--set");
  for (const auto& text : texts) {
    SCOPED_TRACE(text);
    auto iteration = [&](const Scenario& scenario) { return simulate_once(scenario).metrics.iteration; };
    EXPECT_EQ(iteration(resolve(files, parse(text))), iteration(resolve(Files("--set"), parse(text))));
  }
}

TEST(ResolveAll, DrawnRanksAreThoseOfTheirStages) {
  std::vector<std::string> texts;
  for (int pipeline : {1, 2, 4, 2})
    texts.push_back(
        "workload: {model: llama-2-7b, micro_batch: 1, sequence: 2048, dtype: bf16}\n"
        "cluster: {topology: superpod-h100, world_size: 16}\nstrategy: megatron\nbatch: {global: 64}\n"
        "variability: {seed: 1, iterations: 20, report: p95, jitter: 0.03, ranks: 0.05}\n"
        "parallelism: {tensor: 2, pipeline: " +
        std::to_string(pipeline) + "}\n");
  expect_as_alone(texts);
}

TEST(ResolveAll, AStepOf16BitWeightsIsNotThatOfOthers) {
  std::vector<std::string> texts;
  for (const char* strategy : {"zero1", "zero2", "zero3", "fsdp", "megatron"})
    texts.push_back(
        "workload: {model: llama-2-7b, micro_batch: 1, sequence: 2048, dtype: bf16, gradients: fp32}\n"
        "cluster: {topology: superpod-h100, world_size: 16}\noptimizer: {kind: adamw, master: none}\n"
        "strategy: " +
        std::string(strategy) + "\n");
  expect_as_alone(texts);
}

TEST(ResolveAll, WhatOneStrategyReadsIsRefusedForAnother) {
  auto of = [](const std::string& strategy) {
    return parse(
        "workload: {model: gpt2, micro_batch: 1, sequence: 1024, dtype: fp32}\n"
        "cluster: {topology: dgx-h100, world_size: 8, interconnect: {latency: 5us}}\nstrategy: " +
        strategy + "\n");
  };
  Files files("--set");
  EXPECT_NO_THROW(resolve(files, of("data_parallel")));
  EXPECT_THROW(resolve(files, of("ddp")), InputError);
}

TEST(ResolveAll, ARefusalIsThatJobsOnly) {
  std::vector<config::Value> jobs{job(1, 2, "ddp"), job(1, 3, "ddp"), job(2, 2, "ddp")};
  std::vector<const config::Value*> roots{&jobs[0], &jobs[1], &jobs[2]};
  Files files("--set");
  auto found = resolve_all(files, roots);
  EXPECT_TRUE(found[0].scenario && found[2].scenario);
  ASSERT_TRUE(found[1].refusal);
  EXPECT_FALSE(found[1].scenario);
}

}  // namespace
}  // namespace ddpsim::testing
