#include "sim/collective/link_load.hpp"

#include <algorithm>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "sim/collective/algorithms.hpp"
#include "sim/collective/time_alone.hpp"

#include "tests/collective/ports.hpp"
#include "tests/collective/two_levels.hpp"

namespace ddpsim {
namespace {

using testing::Ports;
using testing::some_orders;
using testing::turned_chain_tree;
using testing::two_level_capacity;
using testing::two_levels;

LinkLoad heaviest(const CollectiveSchedule& schedule, const std::vector<BytesPerSecond>& capacities) {
  return heaviest_link(schedule, [&](int link) { return capacities.at(std::size_t(link)); });
}

void expect_load(LinkLoad actual, int link, double seconds_per_byte) {
  EXPECT_EQ(actual.link, link);
  EXPECT_NEAR(actual.seconds_per_byte, seconds_per_byte, 1e-12 * seconds_per_byte);
}

// 2 (n-1)/n of the buffer to all-reduce, half of that to scatter or gather. All links alike: the first.
TEST(HeaviestLink, OfARing) {
  Ports ports(4);
  expect_load(heaviest(ports.ring(), ports.capacities), 0, 1.5 / 12.5e9);
  expect_load(heaviest(ring(Operation::reduce_scatter, ports.wiring(), {{0, 1, 2, 3}}), ports.capacities), 0,
              0.75 / 12.5e9);
  expect_load(heaviest(ring(Operation::all_gather, ports.wiring(), {{0, 1, 2, 3}}), ports.capacities), 0,
              0.75 / 12.5e9);
}

TEST(HeaviestLink, IsTheSlowestOfThoseLoadedAlike) {
  Ports ports(4);
  ports.capacities[5] = BytesPerSecond(10e9);
  expect_load(heaviest(ports.ring(), ports.capacities), 5, 1.5 / 10e9);
  // From rank 0 to 3: nothing comes to rank 0, and rank 3 sends nothing.
  ports.capacities[1] = ports.capacities[6] = BytesPerSecond(1);
  expect_load(heaviest(ports.chain(), ports.capacities), 5, 1 / 10e9);
}

// 0 <- 2 <- {1, 3} on one half, 3 <- 1 <- {0, 2} on the other: rank 1 sends a half up in both and two down in
// the second, twice the buffer; so does rank 2.
TEST(HeaviestLink, OfTrees) {
  Ports ports(4);
  expect_load(heaviest(double_binary_tree(ports.wiring()), ports.capacities), 2, 2 / 12.5e9);
  expect_load(heaviest(double_binary_tree(ports.wiring(), 3), ports.capacities), 2, 2 / 12.5e9);
}

// Two nodes of eight: 7/8 of the buffer in each of two stages over NVLink, 2 x 1/2 x 1/8 over each NIC. With
// the switch, 9/8 of it each way over NVLink; over the NIC an eighth each way.
TEST(HeaviestLink, OfSeveralStagesTogether) {
  auto wiring = two_levels(16);
  expect_load(heaviest_link(testing::hierarchical_on_two_levels(16), two_level_capacity), 2, 0.125 / 12.5e9);
  auto slow_nvlink = [](int link) { return BytesPerSecond(link % 4 < 2 ? 20e9 : 12.5e9); };
  expect_load(heaviest_link(testing::hierarchical_on_two_levels(16), slow_nvlink), 0, 1.75 / 20e9);
  expect_load(heaviest_link(nvls_tree(wiring), two_level_capacity), 2, 0.125 / 12.5e9);
  expect_load(heaviest_link(nvls_tree(wiring), slow_nvlink), 0, 1.125 / 20e9);
}

// A link that a route uses twice carries everything twice.
TEST(HeaviestLink, CountsEveryUse) {
  Channel channel{Pattern::pipeline, {0, 2}, {{0, 1, {7, 3, 7}, Seconds(0), BytesPerSecond(1)}}, 1};
  CollectiveSchedule schedule{"", Operation::broadcast, 2, {{Operation::broadcast, {channel}}}};
  expect_load(heaviest_link(schedule, [](int) { return BytesPerSecond(1e9); }), 7, 1 / 1e9);
}

TEST(HeaviestLink, WithoutLinks) {
  auto never = [](int) { return BytesPerSecond(0); };
  EXPECT_EQ(heaviest_link({}, never).link, -1);
  EXPECT_EQ(heaviest_link({}, never).seconds_per_byte, 0);
  Channel channel{Pattern::pipeline, {}, {{0, 1, {}, Seconds(0), BytesPerSecond(1)}}, 1};
  CollectiveSchedule schedule{"", Operation::broadcast, 2, {{Operation::broadcast, {channel}}}};
  EXPECT_EQ(heaviest_link(schedule, never).link, -1);
}

TEST(HeaviestLink, IsAskedForOnceAndOnlyIfUsed) {
  std::vector<int> asked;
  heaviest_link(ring(Operation::all_reduce, two_levels(16), some_orders(16, 1)), [&](int link) {
    asked.push_back(link);
    return BytesPerSecond(1);
  });
  // In order, the ring leaves each node once: over the NICs of ranks 7 and 15, to those of 8 and 0.
  EXPECT_EQ(asked.size(), 14U + 14U + 2U + 2U);
  EXPECT_TRUE(std::is_sorted(asked.begin(), asked.end()));
}

struct Case {
  std::string name;
  CollectiveSchedule schedule;
};

std::vector<Case> all_algorithms(const Wiring& wiring, int nodes, int size) {
  int n = nodes * size;
  std::vector<Case> cases = {
      {"ring", ring(Operation::all_reduce, wiring, some_orders(n, 2))},
      {"reduce_scatter", ring(Operation::reduce_scatter, wiring, some_orders(n, 1))},
      {"all_gather", ring(Operation::all_gather, wiring, some_orders(n, 1))},
      {"broadcast", chain(Operation::broadcast, wiring, some_orders(n, 1))},
      {"reduce", chain(Operation::reduce, wiring, some_orders(n, 1))},
      {"all_to_all", direct(Operation::all_to_all, wiring)},
      {"tree", double_binary_tree(wiring, 2)},
      {"halving_doubling", halving_doubling(wiring)},
      {"hierarchical", hierarchical(wiring, {std::size_t(nodes), some_orders(size, 2)})},
      {"nvls_tree", nvls_tree(wiring)}};
  for (int channels : {1, size, size + 1})
    cases.push_back({"chain_tree", turned_chain_tree(wiring, channels)});
  if (nodes == 1) cases.push_back({"nvls", nvls(wiring)});
  return cases;
}

Seconds time_of(const CollectiveSchedule& schedule, const std::function<BytesPerSecond(int)>& capacity,
                Bytes buffer) {
  auto plan = fold({{{&schedule, 0}}, {}, capacity});
  return CollectiveTime(plan.groups.at(0).plan, plan.links)(buffer);
}

class LinkBound : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Nodes, LinkBound, ::testing::Range(1, 8), ::testing::PrintToStringParamName());

// Whatever the algorithm, the shape of the cluster and the links.
TEST_P(LinkBound, NothingIsFaster) {
  int nodes = GetParam();
  std::mt19937_64 random(static_cast<std::uint64_t>(nodes));
  for (int size : {1, 2, 3, 8}) {
    if (nodes * size == 1) continue;
    Seconds in_node(random() % 2 == 0 ? 0 : 1e-6), between_nodes(random() % 2 == 0 ? 0 : 5e-6);
    auto wiring = two_levels(std::vector<int>(nodes, size), in_node, between_nodes);
    std::vector<BytesPerSecond> capacities;
    for (int link = 0; link < 4 * wiring.ranks; ++link)
      capacities.push_back(random() % 8 == 0 ? BytesPerSecond(5e9) : two_level_capacity(link));
    auto capacity = [&](int link) { return capacities.at(std::size_t(link)); };
    for (const auto& [name, schedule] : all_algorithms(wiring, nodes, size)) {
      double bound = heaviest_link(schedule, capacity).seconds_per_byte;
      EXPECT_GT(bound, 0) << name;
      for (double bytes : {1e3, 3e6})
        EXPECT_GE(time_of(schedule, capacity, Bytes(bytes)).value(), bound * bytes * (1 - 1e-9))
            << name << " " << nodes << "x" << size << " " << bytes;
    }
  }
}

// Without latency every round in which all levels are at work is as long as the most loaded link takes for a
// chunk, so that 64 MiB take that link's time but for filling and emptying the pipeline: of k chunks over L
// levels, L-1 rounds more, none of them longer.
TEST_P(LinkBound, LargeBuffersComeCloseInOnePipeline) {
  Bytes buffer(64 * 1048576.0);
  auto wiring = two_levels(std::vector<int>(std::size_t(1 + GetParam()), 8), Seconds(0), Seconds(0));
  for (const auto& schedule : {nvls_tree(wiring), turned_chain_tree(wiring, 8)}) {
    const Channel& channel = schedule.stages.at(0).channels.at(0);
    double chunks = chunking_of(channel, Operation::all_reduce).steps(buffer);
    auto load = heaviest_link(schedule, two_level_capacity);
    EXPECT_GE(load.link % 4, 2) << "a NIC";
    double bound = load.seconds_per_byte * buffer.value();
    double time = time_of(schedule, two_level_capacity, buffer).value();
    EXPECT_GE(time, bound) << schedule.algorithm;
    EXPECT_LE(time, bound * (chunks + channel.depth - 1) / chunks) << schedule.algorithm;
  }
}

}  // namespace
}  // namespace ddpsim
