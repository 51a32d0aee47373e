#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/text/topology_file.hpp"
#include "sim/topology/cluster_graph.hpp"

#include "tests/topology/clusters.hpp"

namespace ddpsim {
namespace {

using testing::build_text;
using ::testing::ElementsAre;
using testing::expect_figures;

constexpr const char* kRing = "kind: ring\nlink: {bandwidth: 100Gbps, latency: 5us}\n";

// 100 Gbit/s are 100e9 / 8 = 12.5e9 bytes a second.
TEST(Ring, TheSameLinkEverywhere) {
  auto topology = testing::read_text(kRing);
  for (int n : {2, 3, 1024}) {
    auto ring = topology->build(n);
    EXPECT_EQ(ring->gpus(), n);
    EXPECT_EQ(ring->nodes(), n);
    ASSERT_EQ(ring->links(), n);
    for (int gpu = 0; gpu < n; ++gpu) {
      EXPECT_EQ(ring->node_of(gpu), gpu);
      auto route = ring->route(gpu, (gpu + 1) % n);
      EXPECT_THAT(route.links, ElementsAre(gpu));
      expect_figures(route, 12.5e9, 5e-6);
    }
  }
}

TEST(Ring, AnOverrideChangesWhatItNames) {
  auto ring = build_text(std::string(kRing) +
                             "overrides:\n"
                             "  - {from: 2, bandwidth: 6GB/s}\n"
                             "  - {from: 0, latency: 50us}\n"
                             "  - {from: 3, bandwidth: 1GB/s, latency: 1ms}\n",
                         5);
  expect_figures(ring->route(0, 1), 12.5e9, 50e-6);
  expect_figures(ring->route(1, 2), 12.5e9, 5e-6);
  expect_figures(ring->route(2, 3), 6e9, 5e-6);
  expect_figures(ring->route(3, 4), 1e9, 1e-3);
  expect_figures(ring->route(4, 0), 12.5e9, 5e-6);
}

TEST(Ring, OverridesOfTheScenarioComeAfterThoseOfTheFile) {
  LinkOverride scenario;
  scenario.link = "gpu2>gpu3";
  scenario.bandwidth = BytesPerSecond(1e9);
  auto ring = build_text(std::string(kRing) + "overrides: [{from: 2, bandwidth: 6GB/s, latency: 1us}]\n", 4,
                         {scenario});
  expect_figures(ring->route(2, 3), 1e9, 1e-6);
}

TEST(Ring, NoOverridesAndNoLatency) {
  auto ring = build_text("kind: ring\nlink: {bandwidth: 1B/s, latency: 0s}\noverrides: []\n", 2);
  expect_figures(ring->route(1, 0), 1, 0);
}

TEST(Ring, NamesOfLinks) {
  auto ring = build_text(kRing, 3);
  EXPECT_EQ(ring->link_name(2), "gpu2>gpu0");
  EXPECT_THAT(ring->links_named("gpu1>gpu2", {}), ElementsAre(1));
  EXPECT_THAT(ring->links_named("gpu1-gpu2", {}), ElementsAre(1));
  EXPECT_THAT(build_text(kRing, 2)->links_named("gpu0-gpu1", {}), ElementsAre(0, 1));
  EXPECT_EQ(testing::input_error([&] { (void)ring->links_named("gpu2>gpu1", {}); }),
            "error: there is no link 'gpu2>gpu1'\n"
            "hint: the links of a ring of 3 are gpu0>gpu1 to gpu2>gpu0");
}

// The last rank's link closes the ring; the world may be larger than the overridden ranks, not smaller.
TEST(Ring, AnOverrideOutsideTheWorld) {
  auto text = std::string(kRing) + "overrides:\n  - {from: 3, bandwidth: 6GB/s}\n";
  expect_figures(build_text(text, 4)->route(3, 0), 6e9, 5e-6);
  EXPECT_EQ(testing::topology_error(text, 3),
            "t.yaml:4:5: error: a ring of 3 ranks has no rank 3\n"
            "  4 |   - {from: 3, bandwidth: 6GB/s}\n"
            "    |     ^\n"
            "hint: its last rank is 2");
}

TEST(Ring, ABrokenLinkHasNoWayAround) {
  testing::TemporaryFolder folder;
  auto path = folder.write("ring.yaml", std::string(kRing) + "overrides: [{from: 1, broken: true}]\n");
  auto ring = read_topology(path)->build(3);
  EXPECT_TRUE(ring->find_route(0, 1));
  EXPECT_FALSE(ring->find_route(1, 2));
  EXPECT_EQ(folder.without_folder(testing::input_error([&] { (void)ring->route(1, 2); })),
            "ring.yaml:3:13: error: no way from gpu1 to gpu2: link gpu1>gpu2 is broken\n"
            "  3 | overrides: [{from: 1, broken: true}]\n"
            "    |             ^\n"
            "hint: no other links lead there; leave one of them whole");
}

TEST(Ring, NodesWithChangedLinksAreLikeNoOther) {
  auto ring = build_text(std::string(kRing) + "overrides: [{from: 0, latency: 1us}]\n", 5);
  EXPECT_EQ(ring->like_node(0), 0);
  EXPECT_EQ(ring->like_node(1), 1);
  EXPECT_EQ(ring->like_node(4), 2);
}

TEST(Ring, GpusDoNotForward) {
  auto ring = build_text(kRing, 4);
  EXPECT_EQ(testing::input_error([&] { (void)ring->route(0, 2); }),
            "error: no link leads from gpu0 to gpu2\n"
            "hint: GPUs do not forward for others: both need a direct link or a common switch");
  EXPECT_TRUE(ring->route(2, 2).links.empty());
}

TEST(Ring, OneGpuHasNoLinks) {
  auto one = read_topology(testing::file_path("ring-100gbps.yaml"))->build(1);
  EXPECT_EQ(one->gpus(), 1);
  EXPECT_EQ(one->links(), 0);
  EXPECT_TRUE(one->graph().edges.empty());
}

// The file that comes with the program: a port of 100 Gbit/s for each GPU.
TEST(Ring, TheTopologyOfThisRepository) {
  expect_figures(read_topology(testing::file_path("ring-100gbps.yaml"))->build(8)->route(7, 0), 12.5e9, 5e-6);
}

}  // namespace
}  // namespace ddpsim
