// Long pipelines alone on their links: what repeats itself is left out (CycleFinder), and nothing changes.
#include <functional>
#include <numeric>

#include <gtest/gtest.h>

#include "sim/collective/flow_run.hpp"
#include "sim/collective/fluid_network.hpp"
#include "sim/collective/time_alone.hpp"
#include "sim/cost/operation_costs.hpp"

#include "tests/engine/nccl_scenarios.hpp"

namespace ddpsim::testing {
namespace {

// Every round of every unit, played from start to end.
Seconds played(const TrafficPlan& plan, Bytes bytes) {
  Seconds total;
  for (const auto& stage : plan.groups.front().plan.stages) {
    Seconds slowest;
    for (const auto& unit : stage.units) {
      FluidNetwork network(plan.links);
      FlowRun run(network, unit, bytes, [] {});
      run.start();
      network.run();
      slowest = std::max(slowest, network.now());
    }
    total += slowest;
  }
  return total;
}

class LongPipelines : public ::testing::TestWithParam<const char*> {};

TEST_P(LongPipelines, TakeWhatAllTheirRoundsTake) {
  auto topology = preset(GetParam());
  auto cluster = topology->build(32);
  auto gpus = all_gpus(*cluster);
  auto capacity = [&](int link) { return cluster->link(link).bandwidth; };
  auto expect_same = [&](const CollectiveSchedule& schedule, Bytes bytes, const char* name) {
    auto plan = fold({{{&schedule, 0}}, {}, capacity});
    auto time = CollectiveTime(plan.groups.front().plan, plan.links)(bytes);
    EXPECT_NEAR(time / played(plan, bytes), 1, 1e-9) << name << ", " << bytes.value() << " B";
  };
  for (Bytes bytes : {Bytes(1e5), Bytes(3e7), Bytes(1.1e9)}) {
    for (auto algorithm : {Algorithm::ring, Algorithm::tree, Algorithm::hierarchical})
      expect_same(all_reduce_schedule(*cluster, gpus, {algorithm, std::nullopt, true}), bytes,
                  std::string(algorithm_name(algorithm)).c_str());
    expect_same(all_reduce_schedule(*cluster, gpus, {Algorithm::tree, 4, true}), bytes, "4 trees");
    expect_same(nccl_tree_schedule(*cluster, gpus), bytes, "NCCL's trees");
    expect_same(operation_schedule(*cluster, gpus, Operation::broadcast), bytes, "broadcast");
  }
}
INSTANTIATE_TEST_SUITE_P(Presets, LongPipelines,
                         ::testing::Values("dgx-h100", "dgx1-v100", "p4d", "pcie-8gpu", "fat-tree-3level"),
                         [](const auto& name) {
                           std::string word = name.param;
                           std::erase(word, '-');
                           return word;
                         });

// 8 GiB among 1,024 GPUs: more than ten minutes, and so a test that does not end, where each of a round's
// many timers shares the bandwidth anew.
TEST(LongPipelines, OfAThousandGpus) {
  auto cluster = preset("dgx-h100")->build(1024);
  std::vector<int> all(1024);
  std::iota(all.begin(), all.end(), 0);
  Operation broadcast = Operation::broadcast;
  Bytes bytes(8589934592.0);
  auto costs = plain_costs(*cluster, all, {&broadcast, 1}, {&bytes, 1});
  EXPECT_NEAR(costs.back().time->value(), 57.4926e-3, 1e-6);
}

}  // namespace
}  // namespace ddpsim::testing
