#include "sim/nccl/debug_log.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sim/nccl/log_comparison.hpp"

#include "tests/support/errors.hpp"

namespace ddpsim::nccl {
namespace {

DebugLog read(const std::string& text) {
  return read_debug_log({make_source("nccl.log", text), text});
}

// Of four ranks on two nodes: two rings, each twice, one NIC each.
std::string two_nodes(const std::string& prefix = "") {
  std::string text = prefix + "NCCL version 2.22.3+cuda12.6\n";
  for (int rank = 0; rank < 4; ++rank) {
    auto line = [&](const std::string& message) {
      text += fmt::format("{}node-{}:{}:{} [{}] NCCL INFO {}\n", prefix, rank / 2, 70 + rank, 90 + rank,
                          rank % 2, message);
    };
    line("NCCL_IB_HCA set by environment to mlx5_0.");
    line(fmt::format("comm 0x5f{} rank {} nRanks 4 nNodes 2 localRanks 2 localRank {} MNNVL 0", rank, rank,
                     rank % 2));
    if (rank == 0)
      for (int c = 0; c < 4; ++c)
        line(fmt::format("Channel 0{}/04 : {}", c, c % 2 == 0 ? "0 1 2 3" : "0  3  2  1"));
    line(fmt::format(
        "Channel 00/0 : {}[{}] -> {}[{}] {}", rank, rank % 2, (rank + 1) % 4, (rank + 1) % 2,
        rank % 2 == 0 ? "via P2P/CUMEM/read" : fmt::format("[send] via NET/IB/{}/GDRDMA", rank / 2)));
  }
  return text;
}

TEST(DebugLog, RingsAndTransports) {
  for (const char* prefix :
       {"", "3: ", "[2031-01-02 03:04:05] ", "[1,0]<stdout>:", "(Worker pid=7, ip=10.0.0.7) "}) {
    SCOPED_TRACE(prefix);
    auto log = read(two_nodes(prefix));
    EXPECT_EQ(log.version, (Version{2, 22, 3}));
    EXPECT_EQ(log.environment.at("NCCL_IB_HCA"), "mlx5_0");
    ASSERT_EQ(log.communicators.size(), 1U);
    const auto& one = log.communicators.front();
    EXPECT_EQ(one.ranks, 4);
    EXPECT_EQ(one.nodes, 2);
    EXPECT_EQ(one.channels, 4);
    ASSERT_EQ(one.rings.size(), 4U);
    EXPECT_EQ(one.rings.at(3), (std::vector<int>{0, 3, 2, 1}));
    EXPECT_EQ(one.within, (std::set<std::string>{"P2P/CUMEM"}));
    EXPECT_EQ(one.between, (std::set<std::string>{"NET/IB"}));
    EXPECT_EQ(one.nics, (std::set<std::string>{"0", "1"}));
    EXPECT_TRUE(one.has_gpudirect);
    EXPECT_FALSE(one.multicast);
  }
}

TEST(DebugLog, BeforeTheLineOfNodesRanksComeFromTheLast) {
  auto log = read(
      "a:1:2 [0] NCCL INFO Channel 00/02 :    0   1\n"
      "a:1:2 [0] NCCL INFO Channel 01/02 :    0   1\n"
      "b:3:4 [0] NCCL INFO Channel 00 : 1[7000] -> 0[7000] [send] via NET/Socket/0\n"
      "a:1:2 [0] NCCL INFO comm 0x15 rank 0 nranks 2 cudaDev 0 busId 7000 - Init COMPLETE\n"
      "b:3:4 [0] NCCL INFO comm 0x16 rank 1 nranks 2 cudaDev 0 busId 7000 - Init COMPLETE\n");
  ASSERT_EQ(log.communicators.size(), 1U);
  EXPECT_EQ(log.communicators[0].ranks, 2);
  EXPECT_EQ(log.communicators[0].nodes, 2);  // as many hosts
  EXPECT_EQ(log.communicators[0].channels, 2);
  EXPECT_EQ(log.communicators[0].between, (std::set<std::string>{"NET/Socket"}));
  EXPECT_FALSE(log.version);
}

TEST(DebugLog, CommunicatorsOfSeveralSizes) {
  std::string text;
  for (int ranks : {2, 4})
    text += fmt::format(
        "a:1:2 [0] NCCL INFO comm 0x1 rank 0 nRanks {0} nNodes 1 localRanks {0} localRank 0 MNNVL 0\n"
        "a:1:2 [0] NCCL INFO Channel 00/{0:02} : 0 1\n"
        "a:1:2 [0] NCCL INFO ncclCommInitRank comm 0x1 rank 0 nranks {0} cudaDev 0 commId 0x9 - Init "
        "COMPLETE\n",
        ranks);
  auto log = read(text);
  ASSERT_EQ(log.communicators.size(), 2U);
  EXPECT_EQ(log.communicators[0].ranks, 4);
  EXPECT_EQ(log.communicators[0].channels, 4);
  EXPECT_EQ(log.communicators[1].channels, 2);
}

// Three nodes of two ranks; of each node `gate` has the parent, and the children are ranks 0, 2 and 4's.
std::string three_nodes(bool balanced) {
  auto tree = [&](int rank) {
    if (rank == 0) return "[0] 1/2/-1->0->-1";
    if (rank == 1) return "[0] -1/-1/-1->1->0";
    if (rank == 2) return balanced ? "[0] 3/-1/-1->2->0" : "[0] 3/4/-1->2->0";
    if (rank == 3) return balanced ? "[0] 4/-1/-1->3->2" : "[0] -1/-1/-1->3->2";
    if (rank == 4) return balanced ? "[0] 5/-1/-1->4->3" : "[0] 5/-1/-1->4->2";
    return "[0] -1/-1/-1->5->4";
  };
  std::string text;
  for (int rank = 0; rank < 6; ++rank)
    text += fmt::format(
        "n{0}:{1}:8 [0] NCCL INFO comm 0x1 rank {1} nRanks 6 nNodes 3 localRanks 2 localRank 0 MNNVL 0\n"
        "n{0}:{1}:8 [0] NCCL INFO Trees {2} [1] -1/-1/-1->{1}->-1\n",
        rank / 2, rank, tree(rank));
  return text;
}

TEST(DebugLog, TreesThroughOneOrTwoGpusOfANode) {
  EXPECT_EQ(read(three_nodes(true)).communicators.front().has_balanced_trees, true);
  EXPECT_EQ(read(three_nodes(false)).communicators.front().has_balanced_trees, false);
  EXPECT_FALSE(read(two_nodes()).communicators.front().has_balanced_trees);
}

TEST(DebugLog, TheSearchItself) {
  auto log = read(
      "a:1:2 [0] NCCL INFO Pattern 4, crossNic 0, nChannels 12, bw 20.000000/12.500000, type NVL/PIX, "
      "sameChannels 1\n"
      "a:1:2 [0] NCCL INFO comm 0x1 rank 0 nRanks 8 nNodes 1 localRanks 8 localRank 0 MNNVL 0\n");
  ASSERT_EQ(log.communicators.front().graphs.size(), 1U);
  const auto& graph = log.communicators.front().graphs.front();
  EXPECT_EQ(graph.pattern, kRingPattern);
  EXPECT_EQ(graph.channels, 12);
  EXPECT_DOUBLE_EQ(graph.inter, 12.5);
}

TEST(DebugLog, WhatIsNone) {
  EXPECT_EQ(testing::brief_error([] { read("step 1\n"); }),
            "nccl.log: no line of it is NCCL's; run with NCCL_DEBUG=INFO and keep what all ranks print");
  EXPECT_EQ(testing::brief_error([] { read("NCCL version 2.22.3+cuda12.6\n"); }),
            "nccl.log: no communicator of two ranks or more is in it; is it cut off? NCCL prints 'nRanks 8 "
            "nNodes 1' or "
            "'nranks 8' when it makes one");
}

Communicator predicted() {
  Communicator c;
  c.version = {2, 22, 3};
  c.ranks = 4;
  c.nodes = 2;
  c.ring = {2, 24, 24};
  return c;
}

std::vector<std::string> differing(const std::vector<ComparedRow>& rows) {
  std::vector<std::string> names;
  for (const auto& row : rows)
    if (row.differs) names.emplace_back(row.what);
  return names;
}

using Names = std::vector<std::string>;

TEST(LogComparison, NothingDiffers) {
  auto rows = compare_with_log(predicted(), 2, read(two_nodes()));
  EXPECT_EQ(differing(rows), Names{});
  // Twice the search's channels (connect.cc).
  EXPECT_EQ(printed_channels(predicted()), 4);
}

TEST(LogComparison, EachDifferenceIsNamed) {
  auto log = read(two_nodes());
  auto c = predicted();
  c.ring.channels = 4;
  EXPECT_EQ(differing(compare_with_log(c, 2, log)), Names{"channels"});
  EXPECT_EQ(differing(compare_with_log(predicted(), 1, log)), Names{"different rings"});
  c = predicted();
  c.version = {2, 27, 3};
  EXPECT_EQ(differing(compare_with_log(c, 2, log)), Names{"release"});
  c = predicted();
  c.nodes = 1;
  EXPECT_EQ(differing(compare_with_log(c, 2, log)), (Names{"ranks", "within a node"}));
  c = predicted();
  c.sockets = Sockets{};
  EXPECT_EQ(differing(compare_with_log(c, 2, log)), Names{"between nodes"});
  c = predicted();
  c.direct_nics = false;
  EXPECT_EQ(differing(compare_with_log(c, 2, log)), Names{"between nodes"});
  c = predicted();
  c.pcie = Pcie{.limit = PathLevel::pix, .farthest = PathLevel::sys};
  EXPECT_EQ(differing(compare_with_log(c, 2, log)), Names{"within a node"});
}

TEST(LogComparison, FewFastChannelsOfHoppersAreDoubledOnceMore) {
  auto c = predicted();
  c.ring = {4, 48, 48};  // 48 is above the 45 of connect.cc, and 8 channels are fewer than 16
  EXPECT_EQ(printed_channels(c), 16);
  c.ring = {8, 48, 48};
  EXPECT_EQ(printed_channels(c), 16);
  c.gpu = Gpu::ampere;
  c.ring = {4, 48, 48};
  EXPECT_EQ(printed_channels(c), 8);
}

TEST(LogComparison, NoCommunicatorOfThatSize) {
  auto c = predicted();
  c.ranks = 8;
  auto text = testing::input_error([&] { compare_with_log(c, 2, read(two_nodes())); });
  EXPECT_NE(text.find("no communicator of 8 ranks is in the log, but of 4"), std::string::npos);
  EXPECT_NE(text.find("hint: --world-size 4"), std::string::npos);
}

}  // namespace
}  // namespace ddpsim::nccl
