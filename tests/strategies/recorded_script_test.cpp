// Recorded scripts as workload: DDP's buckets against what its Reducer did, programs as text, and what a
// recording cannot be asked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/config/overrides.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/engine/written_programs.hpp"
#include "sim/resolve/resolve.hpp"
#include "sim/strategy/recorded_memory.hpp"
#include "sim/trace/recorded_step.hpp"

#include "tests/support/temporary_folder.hpp"

namespace ddpsim::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const std::string kRecorded = std::string(DDPSIM_SOURCE_DIR) + "/measurements/recorded/";

Scenario scenario(const std::string& recording, const std::vector<std::string>& settings = {}) {
  auto text = "workload: {recording: " + kRecorded + recording +
              ".jsonl.gz, framework: pytorch-2026}\n"
              "cluster: {topology: superpod-h100, world_size: 8}\nphysics: none\nevidence: none\n";
  auto root = config::parse_yaml({make_source("recorded.yaml", text), text}, "a scenario");
  for (const auto& one : settings) config::apply_override(root, one);
  return resolve(Files("recorded.yaml"), root);
}

double seconds(const Scenario& of) {
  return Simulator()(of).timeline.last_to_finish().duration().value();
}

std::vector<Bytes> all_reduces(const Scenario& of) {
  std::vector<Bytes> all;
  for (const auto& item : of.recorded->first().items)
    if (const auto* one = std::get_if<LaunchedCollective>(&item);
        one && one->operation == Operation::all_reduce)
      all.push_back(one->bytes);
  return all;
}

// The gradients' order and sizes are all that the rules get; PyTorch's Reducer made the recorded ones.
TEST(RecordedScript, ItsBucketsAreThoseOfTheReducer) {
  for (const auto* name : {"ddp-large-4x1024", "ddp-autocast-large-4x1024"}) {
    auto as_recorded = scenario(name), by_rules = scenario(name, {"strategy=ddp"});
    std::vector<Bytes> buckets;
    for (const auto& bucket : by_rules.plan.buckets) buckets.push_back(bucket.bytes);
    EXPECT_EQ(buckets, all_reduces(as_recorded)) << name;
    EXPECT_NEAR(seconds(by_rules) / seconds(as_recorded), 1, 0.05) << name << ", without its copies";
  }
}

TEST(RecordedScript, ReadyGradientsHaveAnyNumberOfRanks) {
  auto many =
      scenario("ddp-large-4x1024", {"strategy=ddp", "cluster.world_size=1024", "ddp.bucket_cap=100MiB"});
  EXPECT_EQ(many.world_size, 1024);
  EXPECT_LT(many.plan.buckets.size(), all_reduces(scenario("ddp-large-4x1024")).size());
}

// As many as it says where the scenario says nothing, under any strategy.
TEST(RecordedScript, HasAsManyRanksAsWereRecorded) {
  for (const auto* strategy : {"", "strategy: ddp\n"}) {
    auto text = "workload: {recording: " + kRecorded + "ddp-large-4x1024.jsonl.gz}\n" + strategy +
                "cluster: {topology: superpod-h100}\nevidence: none\n";
    auto root = config::parse_yaml({make_source("recorded.yaml", text), text}, "a scenario");
    EXPECT_EQ(resolve(Files("recorded.yaml"), root).world_size, 8);
    EXPECT_EQ(resolve_step(Files("recorded.yaml"), root).world_size, 8);
  }
}

TEST(RecordedScript, SaysWhatItCannotBeAsked) {
  auto refuses = [](const std::string& name, const std::string& setting, const std::string& message) {
    EXPECT_THAT([&] { scenario(name, {setting}); }, ThrowsMessage<InputError>(HasSubstr(message))) << setting;
  };
  refuses("fsdp2-large-4x1024", "strategy=ddp", "the recorded model is not under DistributedDataParallel");
  refuses("fsdp2-large-4x1024", "strategy=zero3", "strategy zero3 shards");
  refuses("fsdp2-large-4x1024", "cluster.world_size=16", "recorded as one of 8 ranks, and the job has 16");
  refuses("fsdp2-large-4x1024", "ddp.accumulation_steps=2", "the script's own micro-batches");
  refuses("fsdp2-large-4x1024", "workload.micro_batch=2", "workload.micro_batch is as the script has it");
  refuses("fsdp2-large-4x1024", "workload.trace=t.csv", "exclude each other");
  refuses("fsdp2-large-4x1024", "parallelism.tensor=2", "says nothing of how its layers split");
  refuses("large-float32-4x1024", "cluster.world_size=1024", "recorded as one of 1 ranks");
}

// With lanes: FSDP2 copies beside its passes.
TEST(RecordedScript, ItsProgramAsTextTakesAsLong) {
  TemporaryFolder folder;
  for (const auto* name : {"fsdp2-mixed-large-4x1024", "ddp-large-4x1024"}) {
    auto one = scenario(name);
    auto text = write_program(written_program(one));
    auto again = scenario(name, {"strategy={program: " + folder.write("own.program", text) + "}"});
    EXPECT_EQ(seconds(again), seconds(one)) << name;
  }
}

// The GPU works on one thing or on two, and is idle only where it waits: the passes and the copies of a step
// of one rank take what its operators take.
TEST(RecordedScript, WorkIsConserved) {
  auto one = scenario("fsdp2-large-4x1024", {"collective.scale={latency: 0.001, bandwidth: 1000}"});
  Seconds work;
  for (auto time : one.trace->steps.front()->times) work += time;
  EXPECT_NEAR(seconds(one) / work.value(), 1, 0.005);
}

// As the recorder counted them.
TEST(RecordedScript, MemoryIsThatOfItsStorages) {
  auto one = scenario("gpt2-autocast-16x1024", {"cluster.world_size=1"});
  auto parts = one.memory().value();
  EXPECT_EQ((parts.allocated() - parts.workspaces).value(), 15502008320.0);
  Bytes level, peak;
  for (const auto& event : recorded_memory_timeline(one.recorded->first())) {
    level += (event.is_freed ? -1.0 : 1.0) * event.bytes;
    peak = std::max(peak, level);
  }
  EXPECT_EQ(peak, parts.allocated() - parts.workspaces);
}

// What uncertainty turns: half the speed is twice the compute.
TEST(RecordedScript, IsTimedAgainWithOtherSoftware) {
  auto one = scenario("gpt2-bf16-16x1024", {"cluster.world_size=1"});
  auto slower = one;
  auto software = one.recorded->software;
  software.gemm /= 2;
  software.attention /= 2;
  software.memory /= 2;
  software.host = 2 * software.host;
  set_software(slower, software);
  EXPECT_NEAR(seconds(slower) / seconds(one), 2, 1e-9);
}

}  // namespace
}  // namespace ddpsim::testing
