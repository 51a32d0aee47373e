// What NCCL's model says of the all-reduces of a group, and which schedule carries it.
#include "sim/cost/nccl_model.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/cost/nccl_communicator.hpp"

#include "tests/engine/link_changes.hpp"
#include "tests/engine/nccl_scenarios.hpp"
#include "tests/support/errors.hpp"

namespace ddpsim::testing {
namespace {

using nccl::Algorithm;
using nccl::Protocol;

NcclModel model_on(const Topology& topology, const Cluster& cluster, const std::vector<int>& gpus,
                   const nccl::Allowed& allowed = {}, const nccl::Calibration& calibration = {}) {
  return {cluster, gpus, nccl_communicator(cluster, gpus, *topology.nccl), allowed, calibration};
}

NcclModel model_of(const std::string& text, int gpus, const nccl::Allowed& allowed = {},
                   const nccl::Calibration& calibration = {}) {
  auto topology = topology_of(text);
  auto cluster = topology->build(gpus);
  return model_on(*topology, *cluster, all_gpus(*cluster), allowed, calibration);
}

nccl::Allowed only(Algorithm algorithm, Protocol protocol) {
  return {{algorithm}, {protocol}};
}

// Two nodes of eight A100s, ring and Simple, 102.4 MB: 1.875 times as much over 8 NICs of 25 GB/s is 0.96 ms.
// 30 steps, 2 of them across nodes (14 us); the others post to the network, thrice 2 us with an AMD CPU: 8.4
// + 28 x 6 + 2 x 14 = 204.4 us.
TEST(NcclModel, ARingsTimeByHand) {
  auto model = model_of(kA100s, 16, only(Algorithm::ring, Protocol::simple));
  auto choice = model.choose(Bytes(102.4e6));
  EXPECT_NEAR(choice.time.value(), 1.1644e-3, 1e-12);
  EXPECT_EQ(choice.candidate->algorithm, Algorithm::ring);
  EXPECT_EQ(choice.candidate->protocol, Protocol::simple);
  EXPECT_EQ(choice.candidate->channels, 8);
  EXPECT_EQ(choice.stage, 0U);
}

// The same GPUs when the model would let them do without time: each of 8 NICs of 25 GB/s carries 2 x 15/16 of
// an eighth: 1.875 x 102.4 MB / 200 GB/s = 0.96 ms.
TEST(NcclModel, LinksBoundTheTime) {
  nccl::Calibration fast;
  fast.entries = {{Algorithm::ring, true, {1e-3, 1e3, Seconds(1e-9)}}};
  auto allowed = only(Algorithm::ring, Protocol::simple);
  auto model = model_of(kA100s, 16, allowed, fast);
  EXPECT_NEAR(model.choose(Bytes(102.4e6)).time.value(), 0.96e-3, 1e-12);
  // Half as many bytes, half the time: the bound has no latency.
  EXPECT_NEAR(model.choose(Bytes(51.2e6)).time.value(), 0.48e-3, 1e-12);
}

// Twice the uplinks' load at an oversubscription of 2: nodes on leaves of their own, so that every ring
// crosses them. NCCL's search sees the rings at 12.5 and its tuner's time doubles with the bound.
TEST(NcclModel, OversubscribedUplinksBoundTheTime) {
  nccl::Calibration fast;
  fast.entries = {{Algorithm::ring, true, {1e-3, 1e3, Seconds(1e-9)}}};
  auto allowed = only(Algorithm::ring, Protocol::simple);
  std::string text = kA100s;
  text.replace(text.find("{kind: rail_optimized}"), 22,
               "{kind: rail_optimized, nodes_per_leaf: 1, oversubscription: 2}");
  EXPECT_NEAR(model_of(text, 16, allowed, fast).choose(Bytes(102.4e6)).time.value(), 1.92e-3, 1e-12);
}

TEST(NcclModel, NeverLessThanTheMostLoadedLink) {
  auto topology = topology_of(kH100s);
  for (int gpus : {8, 16, 32}) {
    auto cluster = topology->build(gpus);
    auto model = model_on(*topology, *cluster, all_gpus(*cluster));
    // No GPU can do with less than S out of its NVLinks (NVLS), no node with less than S out of its NICs.
    double least = gpus == 8 ? 1 / 450e9 : 1 / 400e9;
    Seconds before;
    for (double bytes = 4096; bytes < 8e9; bytes *= 2) {
      auto choice = model.choose(Bytes(bytes));
      EXPECT_GE(choice.time.value(), least * bytes * (1 - 1e-12)) << gpus << " GPUs, " << bytes << " B";
      EXPECT_GT(choice.time, before) << gpus << " GPUs, " << bytes << " B";
      before = choice.time;
    }
  }
}

// Each algorithm that is left to choose has a stage, whose edges cost bandwidth only.
TEST(NcclModel, AStageAnAlgorithm) {
  auto topology = topology_of(kH100s);
  struct Case {
    int gpus;
    nccl::Allowed allowed;
    std::size_t stages;
  };
  for (const auto& [gpus, allowed, stages] :
       {Case{8, {}, 3}, Case{16, {}, 3}, Case{16, {{Algorithm::ring}, {}}, 1},
        Case{8, {{}, {Protocol::simple}}, 3}, Case{8, {{}, {Protocol::ll}}, 2}}) {
    auto cluster = topology->build(gpus);
    auto model = model_on(*topology, *cluster, all_gpus(*cluster), allowed);
    ChannelLimits limits(cluster->links());
    auto schedule = model.schedule(*cluster, all_gpus(*cluster), limits);
    EXPECT_EQ(schedule.stages.size(), stages);
    EXPECT_EQ(schedule.ranks, gpus);
    for (const auto& stage : schedule.stages)
      for (const auto& channel : stage.channels)
        for (const auto& edge : channel.edges) EXPECT_EQ(edge.latency, Seconds(0));
    for (double bytes : {1e3, 1e6, 1e9}) EXPECT_LT(model.choose(Bytes(bytes)).stage, stages);
  }
}

// Within a node the stages are trees, rings and NVLS: as the candidates stand.
TEST(NcclModel, TheStageIsTheChosenAlgorithms) {
  auto topology = topology_of(kH100s);
  auto cluster = topology->build(8);
  auto model = model_on(*topology, *cluster, all_gpus(*cluster));
  EXPECT_EQ(model.choose(Bytes(1e9)).candidate->algorithm, Algorithm::nvls);
  EXPECT_EQ(model.choose(Bytes(1e9)).stage, 2U);
  auto forced = model_on(*topology, *cluster, all_gpus(*cluster), {{Algorithm::nvls}, {}});
  EXPECT_EQ(forced.choose(Bytes(1e3)).candidate->algorithm, Algorithm::nvls);
  EXPECT_EQ(forced.choose(Bytes(1e3)).stage, 0U);
}

TEST(NcclModel, GroupsAreLikeWhereTheirLinksAre) {
  auto topology = preset("dgx-a100");
  auto whole = topology->build(32);
  auto nodes = [](int first, int last) {
    std::vector<int> gpus;
    for (int gpu = 8 * first; gpu < 8 * last; ++gpu) gpus.push_back(gpu);
    return gpus;
  };
  auto model = [&](const Cluster& cluster, const std::vector<int>& gpus) {
    return model_on(*topology, cluster, gpus);
  };
  auto first = model(*whole, nodes(0, 1));
  EXPECT_TRUE(first.like(model(*whole, nodes(3, 4))));
  EXPECT_TRUE(first.like(first));
  EXPECT_FALSE(first.like(model(*whole, nodes(0, 2))));                 // more of them
  EXPECT_FALSE(first.like(model(*whole, {0, 1, 2, 3})));                // fewer
  EXPECT_FALSE(first.like(model(*whole, {0, 1, 2, 3, 8, 9, 10, 11})));  // as many, across nodes

  std::vector<LinkOverride> slow{slower("node3.gpu0>node3.nvswitch", 100)};
  auto degraded = topology->build(32, slow);
  EXPECT_FALSE(model(*degraded, nodes(0, 1)).like(model(*degraded, nodes(3, 4))));
  EXPECT_TRUE(model(*degraded, nodes(0, 1)).like(model(*degraded, nodes(2, 3))));
}

// A link that is no slower for NCCL's search, which has speeds of 48, 45, 42 ... only, but for its traffic.
TEST(NcclModel, LikeCountsTheLinksToo) {
  auto topology = topology_of(kA100s);
  std::vector<LinkOverride> slow{slower("node1.gpu0>node1.nvswitch", 299)};
  auto cluster = topology->build(16, slow);
  std::vector<int> first{0, 1, 2, 3}, second{8, 9, 10, 11};
  auto seen = [&](const std::vector<int>& gpus) {
    auto c = nccl_communicator(*cluster, gpus, *topology->nccl);
    c.nvlink_peak = {};
    return c;
  };
  ASSERT_FALSE(seen(first).ring == seen(second).ring);
  EXPECT_FALSE(model_on(*topology, *cluster, first).like(model_on(*topology, *cluster, second)));
}

TEST(NcclModel, NothingThatIsAllowedIsPossible) {
  EXPECT_EQ(input_error([] {
              model_of(kA100s, 8, {{Algorithm::nvls, Algorithm::nvls_tree}, {}});
            }),
            "error: NCCL has no way to do that among these GPUs\n"
            "hint: nvls needs NVLink switches that reduce (multicast: true), Hopper GPUs or newer, more than "
            "two of them a node, and the protocol simple");
  EXPECT_THROW(model_of(kH100s, 8, only(Algorithm::nvls, Protocol::ll)), InputError);
  EXPECT_NO_THROW(model_of(kH100s, 2, {{Algorithm::nvls}, {}}));  // since 2.28.7
  EXPECT_NO_THROW(model_of(kH100s, 8, only(Algorithm::nvls, Protocol::simple)));
}

// PCIe has no LL128 (tuning.cc: only over NVLink, or where every GPU is alone in its node).
TEST(NcclModel, ProtocolsThatNcclLeavesOut) {
  auto protocols = [](const std::string& name, int gpus) {
    auto topology = preset(name);
    auto cluster = topology->build(gpus);
    auto model = model_on(*topology, *cluster, all_gpus(*cluster));
    std::vector<Protocol> chosen;
    for (double bytes = 1; bytes < 1e10; bytes *= 2) {
      auto protocol = model.choose(Bytes(bytes)).candidate->protocol;
      if (chosen.empty() || chosen.back() != protocol) chosen.push_back(protocol);
    }
    return chosen;
  };
  EXPECT_THAT(protocols("pcie-8gpu", 8), ::testing::ElementsAre(Protocol::ll, Protocol::simple));
  EXPECT_THAT(protocols("dgx-a100", 16),
              ::testing::ElementsAre(Protocol::ll, Protocol::ll128, Protocol::simple));
}

}  // namespace
}  // namespace ddpsim::testing
