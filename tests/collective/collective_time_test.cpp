// The closed form of whole collectives.
#include <gtest/gtest.h>

#include "sim/collective/time_alone.hpp"

#include "tests/collective/plays.hpp"
#include "tests/collective/ports.hpp"
#include "tests/collective/two_levels.hpp"

namespace ddpsim {
namespace {

using testing::hierarchical_on_two_levels;
using testing::play;
using testing::Ports;
using testing::some_orders;
using testing::turned_chain_tree;
using testing::two_level_capacity;
using testing::two_levels;

struct Golden {
  int ranks;
  double milliseconds;
};

class HierarchicalGolden : public ::testing::TestWithParam<Golden> {};

// 25 MiB: 14 (a0 + S/8/b0) + 2 (N/8 - 1) (a + S/N/b) with a0 = 0.5 us and b0 = 200 GB/s in the node, a = 5 us
// and b = 12.5 GB/s between nodes. N = 64: 14 (0.5 us + 16.384 us) + 14 (5 us + 32.768 us) = 236.376 us +
// 528.752 us.
INSTANTIATE_TEST_SUITE_P(Ranks, HierarchicalGolden,
                         ::testing::Values(Golden{64, 0.765128}, Golden{256, 1.054280},
                                           Golden{1024, 2.026568}, Golden{4096, 5.869640},
                                           Golden{16384, 21.230408}),
                         [](const auto& golden) { return std::to_string(golden.param.ranks); });

TEST_P(HierarchicalGolden, TwentyFiveMiB) {
  auto schedule = hierarchical_on_two_levels(GetParam().ranks);
  auto plan = fold({{{&schedule, 0}}, {}, two_level_capacity});
  CollectiveTime time(plan.groups.at(0).plan, plan.links);
  double expected = GetParam().milliseconds * 1e-3;
  EXPECT_NEAR(time(Bytes(26214400)).value(), expected, 1e-9 * expected);
}

// Three ranks and rank 1's port at half speed. Rank 2 hands all of S to rank 0, ranks 0 and 1 exchange halves
// twice, rank 0 hands all back. 500,000 B over one edge take 5 us and 40 us to send; half of it takes rank 1
// 40 us, and 5 us once: 2 (45 us + 45 us).
TEST(CollectiveTimeOf, StagesOneAfterTheOther) {
  Ports ports(3);
  ports.capacities[2] = BytesPerSecond(6.25e9);
  auto schedule = halving_doubling(ports.wiring());
  auto plan = fold(ports.traffic({&schedule}));
  CollectiveTime time(plan.groups.at(0).plan, plan.links);
  EXPECT_NEAR(time(Bytes(500000)).value(), 180e-6, 1e-15);
}

// Two nodes of two with node 1 slower in its NVLink-like ports: its rings set the pace of the first and last
// stage.
TEST(CollectiveTimeOf, SlowestUnitOfAStage) {
  Ports ports(4);
  auto wiring = ports.wiring();
  wiring.nodes = {{0, 1}, {2, 3}};
  wiring.path = [&ports](int from, int to) {
    auto path = ports.path(from, to);
    if (from / 2 == 1 && to / 2 == 1) path.latency = Seconds(30e-6);
    return path;
  };
  auto schedule = hierarchical(wiring, {2, {{0, 1}}});
  auto plan = fold(ports.traffic({&schedule}));
  ASSERT_EQ(plan.groups[0].plan.stages[0].units.size(), 2U);
  CollectiveTime time(plan.groups[0].plan, plan.links);
  // One step of S/2 in the nodes, two of S/4 between them, one of S/2: 20 us, 10 us and 20 us to send.
  EXPECT_NEAR(time(Bytes(500000)).value(), (30e-6 + 20e-6) + 2 * (5e-6 + 10e-6) + (30e-6 + 20e-6), 1e-15);
}

// A chunk goes through nodes and between them in one pipeline; edge by edge it takes as long as folded,
// whether all nodes are alike or one has a slow NIC.
TEST(CollectiveTimeOf, PipelinesAcrossNodesEdgeByEdge) {
  for (double slow_nic : {12.5e9, 5e9})
    for (const auto& sizes :
         std::vector<std::vector<int>>{{4, 4}, {2, 2, 2}, {1, 1, 1, 1, 1}, {3, 3, 3, 3}}) {
      auto wiring = two_levels(sizes);
      auto capacity = [&](int link) {
        return link == 4 * 1 + 2 ? BytesPerSecond(slow_nic) : two_level_capacity(link);
      };
      for (const auto& schedule :
           {nvls_tree(wiring), turned_chain_tree(wiring, 1), turned_chain_tree(wiring, sizes[0])}) {
        Traffic traffic{{{&schedule, 0}}, {}, capacity};
        auto folded = fold(traffic), whole = unfold(traffic);
        CollectiveTime time(folded.groups.at(0).plan, folded.links);
        CollectiveTime edge_by_edge(whole.groups.at(0).plan, whole.links);
        for (double bytes : {1.0, 2e6}) {
          double expected = edge_by_edge(Bytes(bytes)).value();
          EXPECT_NEAR(time(Bytes(bytes)).value(), expected, 1e-9 * expected) << schedule.algorithm;
        }
      }
    }
}

TEST(CollectiveTimeOf, AGroupOfOne) {
  Ports ports(1);
  auto schedule = double_binary_tree(ports.wiring());
  auto plan = fold(ports.traffic({&schedule}));
  EXPECT_EQ(CollectiveTime(plan.groups.at(0).plan, plan.links)(Bytes(1e9)), Seconds(0));
}

// As long as the plan takes on a network where nothing else happens.
TEST(CollectiveTimeOf, EveryAlgorithmPlayedThrough) {
  Ports ports(8);
  ports.capacities[5] = BytesPerSecond(7e9);
  ports.latencies[6] = Seconds(12e-6);
  auto wiring = ports.wiring();
  wiring.nodes = {{0, 1, 2, 3}, {4, 5, 6, 7}};
  for (const auto& schedule :
       {ring(Operation::all_reduce, wiring, some_orders(8, 2)),
        chain(Operation::broadcast, wiring, some_orders(8, 1)), double_binary_tree(wiring, 2),
        halving_doubling(wiring), hierarchical(wiring, {2, some_orders(4, 2)})}) {
    auto plan = fold(ports.traffic({&schedule}));
    CollectiveTime time(plan.groups.at(0).plan, plan.links);
    for (double bytes : {1.0, 3e5, 2e6}) {
      double expected = play(plan, {{Seconds(0), Bytes(bytes)}})[0].value();
      EXPECT_NEAR(time(Bytes(bytes)).value(), expected, 1e-12 * expected) << schedule.algorithm;
    }
  }
}

}  // namespace
}  // namespace ddpsim
