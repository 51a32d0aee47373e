// The channels NCCL settles on, derived by hand from the speeds its search tries (src/graph/search.cc).
#include "sim/nccl/channel_graphs.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace ddpsim::nccl {
namespace {

std::optional<Graph> rings(Gpu gpu, const std::vector<double>& bandwidths, int nodes = 1) {
  return ring_graph(Version::v2_30_7, gpu, {.rings = bandwidths, .nodes = nodes});
}

// 12 NVLinks of 20 GB/s: six channels of 40 fill them at once. Duplicated (40 >= 25): twelve of 20.
TEST(ChannelGraphs, DgxA100) {
  EXPECT_EQ(rings(Gpu::ampere, {240}), (Graph{12, 20, 20}));
}

// 18 NVLinks of 20.6 GB/s = 370.8: 6 x 60 = 360 is more than 7 x 50, and 9 x 40 and 12 x 30 are no more.
// Duplicated, because 60 >= 50: twelve of 30.
TEST(ChannelGraphs, DgxH100) {
  EXPECT_EQ(rings(Gpu::hopper, {370.8}), (Graph{12, 30, 30}));
}

// Six rings of one NVLink of 20 GB/s each; 40 and 30 fit none of them; 20 is not duplicated. connect.cc
// doubles the channels of every communicator: the 12 that logs show.
TEST(ChannelGraphs, Dgx1V100) {
  EXPECT_EQ(rings(Gpu::volta, std::vector<double>(6, 20.0)), (Graph{6, 20, 20}));
}

// A GPU's 370.8 GB/s shared by eight rings leaves 46.35 each, less than a 400 Gbit/s NIC: 45 is the next
// speed. Not duplicated: below 50 with more than four channels.
TEST(ChannelGraphs, DgxH100AcrossNodes) {
  EXPECT_EQ(rings(Gpu::hopper, std::vector<double>(8, 46.35), 2), (Graph{8, 45, 45}));
}

// 200 Gbit/s NICs: 25 GB/s each, 24 is the next speed, below 25 and so not duplicated.
TEST(ChannelGraphs, DgxA100AcrossNodes) {
  EXPECT_EQ(rings(Gpu::ampere, std::vector<double>(8, 25.0), 2), (Graph{8, 24, 24}));
}

TEST(ChannelGraphs, AFourHundredGigabitNicAloneIsUsedTwice) {
  EXPECT_EQ(rings(Gpu::hopper, {50}, 2), (Graph{2, 24, 24}));
}

TEST(ChannelGraphs, SlowNetworksHaveSpeedsToo) {
  EXPECT_EQ(rings(Gpu::ampere, {1.25}, 2), (Graph{1, 1.2, 1.2}));
  EXPECT_EQ(rings(Gpu::ampere, {0.125}, 2), (Graph{1, 0.12, 0.12}));
}

// search.cc: "Could not find a path for pattern ..., falling back to simple order", bw 0.1, one channel.
TEST(ChannelGraphs, BelowTheSlowestSpeedNothingIsFound) {
  EXPECT_EQ(rings(Gpu::ampere, {0.05}, 2), std::nullopt);
  EXPECT_EQ(rings(Gpu::hopper, {2.9}), std::nullopt);
  EXPECT_EQ(rings(Gpu::blackwell, {17.9}), std::nullopt);
  EXPECT_EQ(rings(Gpu::blackwell, {18}), (Graph{1, 18, 18}));
  auto graph = simple_order(16);
  EXPECT_FALSE(graph.found);
  EXPECT_EQ(graph.channels, 1);
  EXPECT_DOUBLE_EQ(graph.intra, 0.1);
  EXPECT_DOUBLE_EQ(graph.inter, 0.1);
  EXPECT_DOUBLE_EQ(graph.intra * graph.gain, 16);
}

// Eight NICs of 9.5 Gbit/s: 1.2 GB/s does not fit, 0.24 does, but no more than 16 times: 3.84 of 9.5 GB/s.
TEST(ChannelGraphs, LinksGiveMoreThanSpeedsWithGapsCount) {
  auto graph = rings(Gpu::hopper, std::vector<double>(8, 1.1875), 2);
  ASSERT_TRUE(graph);
  EXPECT_EQ(graph->channels, 16);
  EXPECT_EQ(graph->intra, 0.24);
  EXPECT_DOUBLE_EQ(16 * 0.24 * graph->gain, 9.5);
  EXPECT_EQ(rings(Gpu::hopper, std::vector<double>(8, 1.25), 2)->gain, 1);
  // What a slow ring takes with it is not counted: eight times the slowest, or seven of the others.
  std::vector<double> uneven(8, 1.1875);
  uneven[0] = 0.3;
  EXPECT_DOUBLE_EQ(rings(Gpu::hopper, uneven, 2)->gain * 16 * 0.24, 7 * 1.1875);
}

// Eight rings of 90 GB/s: before 2.30 two channels of 45.1 do not fit into one, and 48 is tried first (8 x 48
// = 384; 8 x 2 x 42 = 672 is the most, of at most 16 channels). 2.30 has 86: 688 GB/s, doubled to 16 channels
// of 43.
TEST(ChannelGraphs, BlackwellsSpeedsChangedWith230) {
  std::vector<double> eight(8, 90.0);
  EXPECT_EQ(ring_graph(Version::v2_27_6, Gpu::blackwell, {.rings = eight, .nodes = 2}), (Graph{16, 42, 42}));
  EXPECT_EQ(ring_graph(Version::v2_30_7, Gpu::blackwell, {.rings = eight, .nodes = 2}), (Graph{16, 43, 43}));
}

TEST(ChannelGraphs, NeverMoreThanSixteenChannels) {
  EXPECT_LE(rings(Gpu::blackwell, std::vector<double>(18, 100.0))->channels, 16);
}

TEST(ChannelGraphs, TreesAcrossTwoNodesHaveFasterChains) {
  Wires wires{.rings = {}, .gpu = 240, .network = 25, .nodes = 2, .gpus_per_node = 8};
  // 8 chains cross 7 of 8 GPUs' links each: 7 x 30 = 210 fits into 240, 7 x 40 would not be tried (48 is).
  EXPECT_EQ(tree_graph(Version::v2_30_7, Gpu::ampere, wires, {8, 24, 24}), (Graph{8, 30, 24}));
  wires.nodes = 3;
  EXPECT_EQ(tree_graph(Version::v2_30_7, Gpu::ampere, wires, {8, 24, 24}), (Graph{8, 24, 24}));
}

// Eight heads: 9 x 40 = 360 of 370.8 in a node. Between nodes up to twice that, as far as the NIC goes.
TEST(ChannelGraphs, Nvls) {
  std::vector<double> eight(8, 46.35);
  EXPECT_EQ(nvls_graph(Version::v2_30_7, Gpu::hopper, {.rings = {}, .gpu = 370.8, .gpus_per_node = 8}),
            (Graph{8, 40, 60}));
  EXPECT_EQ(nvls_graph(Version::v2_30_7, Gpu::hopper, {.rings = {}, .gpu = 370.8, .gpus_per_node = 4}),
            (Graph{4, 60, 60}));
  EXPECT_EQ(nvls_graph(Version::v2_30_7, Gpu::hopper,
                       {.rings = eight, .gpu = 370.8, .network = 50, .nodes = 2, .gpus_per_node = 8}),
            (Graph{8, 40, 48}));
  EXPECT_EQ(nvls_graph(Version::v2_30_7, Gpu::hopper, {.rings = {}, .gpu = 370.8, .gpus_per_node = 2}),
            std::nullopt);
}

}  // namespace
}  // namespace ddpsim::nccl
