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
