// Folding changes no time: random collectives, folded and edge by edge, end at the same instant when both
// advance in rounds (fold.hpp).
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "sim/collective/algorithms.hpp"
#include "sim/collective/fold.hpp"
#include "sim/collective/time_alone.hpp"

#include "tests/collective/plays.hpp"

namespace ddpsim {
namespace {

using testing::Launch;
using testing::play;

// Some groups on a cluster whose ranks share ports, with degraded links and background flows.
class RandomTraffic {
 public:
  explicit RandomTraffic(std::uint64_t seed) : random_(seed) {
    ranks_ = 4 * up_to(3);
    ranks_a_port_ = 1 << (up_to(3) - 1);
    set_links();
    int group_count = up_to(2), size = ranks_ / group_count;
    bool contiguous = chance(0.5), same_label = chance(0.6);
    schedules_.reserve(std::size_t(group_count));
    for (int g = 0; g < group_count; ++g) {
      std::vector<int> members;
      for (int i = 0; i < size; ++i) members.push_back(contiguous ? g * size + i : i * group_count + g);
      if (g == 0 || !same_label) shape_ = random_();
      schedules_.push_back(schedule(wiring(members)));
      traffic.groups.push_back({&schedules_.back(), same_label ? 0 : g});
      launches.push_back(g == 0 || !same_label
                             ? Launch{Seconds(1e-5 * up_to(10)), Bytes(std::floor(1e6 * (0.01 + uniform())))}
                             : launches.back());
    }
    for (int flows = up_to(3) - 2; flows > 0; --flows) {
      int from = up_to(ranks_) - 1;
      traffic.background.push_back(path(from, (from + up_to(ranks_ - 1)) % ranks_).links);
    }
    traffic.capacity = [this](int link) { return capacities_[std::size_t(link)]; };
  }
  RandomTraffic(const RandomTraffic&) = delete;
  RandomTraffic& operator=(const RandomTraffic&) = delete;

  Traffic traffic;
  std::vector<Launch> launches;

 private:
  int up_to(int n) { return 1 + static_cast<int>(random_() % std::uint64_t(n)); }
  double uniform() { return std::uniform_real_distribution<double>(0, 1)(random_); }
  bool chance(double share) { return uniform() < share; }

  // Out of and into each rank, out of and into each port, one in the middle.
  void set_links() {
    int ports = ranks_ / ranks_a_port_;
    for (int link = 0; link < 2 * ranks_; ++link) capacities_.emplace_back(20e9);
    for (int link = 0; link < 2 * ports; ++link) capacities_.emplace_back(12.5e9);
    capacities_.emplace_back(chance(0.3) ? 5e9 * ports : 1e12);
    for (int degraded = up_to(3) - 2; degraded > 0; --degraded) {
      auto& capacity = capacities_[random_() % capacities_.size()];
      capacity = capacity * 0.5;
    }
    straggler_ = chance(0.3) ? up_to(ranks_) - 1 : -1;
  }

  Path path(int from, int to) {
    Seconds latency(from == straggler_ ? 20e-6 : 5e-6);
    int port_from = from / ranks_a_port_, port_to = to / ranks_a_port_;
    if (port_from == port_to) return {{2 * from, 2 * to + 1}, latency * 0.1, BytesPerSecond(20e9)};
    int ports = 2 * ranks_, middle = static_cast<int>(capacities_.size()) - 1;
    return {{2 * from, ports + 2 * port_from, middle, ports + 2 * port_to + 1, 2 * to + 1},
            latency,
            BytesPerSecond(12.5e9)};
  }

  Wiring wiring(std::vector<int> members) {
    Wiring wiring;
    wiring.ranks = static_cast<int>(members.size());
    wiring.nodes.resize(2);
    for (int i = 0; i < wiring.ranks; ++i) wiring.nodes[2 * i < wiring.ranks ? 0 : 1].push_back(i);
    wiring.path = [this, members](int from, int to) { return path(members[from], members[to]); };
    return wiring;
  }

  // The same for the same shape_, but for the members.
  CollectiveSchedule schedule(const Wiring& wiring) {
    std::mt19937_64 random(shape_);
    auto some_orders = [&](int n) {
      std::vector<int> order;
      for (int i = 0; i < n; ++i) order.push_back(i);
      std::vector<std::vector<int>> orders(1 + random() % 3, order);
      if (random() % 2 == 0)
        for (auto& shuffled : orders) std::shuffle(shuffled.begin(), shuffled.end(), random);
      return orders;
    };
    switch (random() % 5) {
      case 0:
        return double_binary_tree(wiring, 1 + static_cast<int>(random() % 2));
      case 1:
        return halving_doubling(wiring);
      case 2:
        return hierarchical(wiring, {2, some_orders(wiring.ranks / 2)});
      default:
        return ring(Operation::all_reduce, wiring, some_orders(wiring.ranks));
    }
  }

  std::mt19937_64 random_;
  int ranks_ = 0, ranks_a_port_ = 1, straggler_ = -1;
  std::uint64_t shape_ = 0;
  std::vector<BytesPerSecond> capacities_;
  std::vector<CollectiveSchedule> schedules_;
};

std::size_t flow_count(const TrafficPlan& plan) {
  std::size_t flows = 0;
  for (const auto& group : plan.groups)
    for (const auto& stage : group.plan.stages)
      for (const auto& unit : stage.units)
        for (const auto& channel : unit.channels) flows += channel.flows.size();
  return flows;
}

TrafficPlan unfolded_in_rounds(const Traffic& traffic) {
  auto plan = unfold(traffic);
  for (auto& group : plan.groups)
    for (auto& stage : group.plan.stages)
      for (auto& unit : stage.units)
        for (auto& channel : unit.channels) channel.coupling = Coupling::rounds;
  return plan;
}

class FoldExactness : public ::testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, FoldExactness, ::testing::Range<std::uint64_t>(1, 101));

TEST_P(FoldExactness, EndsAtTheSameTimes) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  RandomTraffic random(GetParam());
  auto folded = fold(random.traffic);
  auto whole = unfolded_in_rounds(random.traffic);
  EXPECT_LE(flow_count(folded), flow_count(whole));
  auto expected = play(whole, random.launches);
  auto actual = play(folded, random.launches);
  for (std::size_t g = 0; g < expected.size(); ++g) {
    EXPECT_GT(expected[g], random.launches[g].at) << "group " << g;
    EXPECT_NEAR(actual[g].value(), expected[g].value(), 1e-9 * expected[g].value()) << "group " << g;
  }
}

// Where nobody uses another's links, every group takes as long as the closed form says.
TEST_P(FoldExactness, TakesTheTimeAloneUnlessContended) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  RandomTraffic random(GetParam());
  auto folded = fold(random.traffic);
  if (folded.is_contended()) return;
  auto whole = unfolded_in_rounds(random.traffic);
  auto ends = play(whole, random.launches);
  for (const auto& group : folded.groups) {
    CollectiveTime time(group.plan, folded.links);
    for (auto g : group.members) {
      double expected = (random.launches[g].at + time(random.launches[g].buffer)).value();
      EXPECT_NEAR(ends[g].value(), expected, 1e-9 * expected) << "group " << g;
    }
  }
}

// The tests above would mean little if hardly anything folded, or all were contended.
TEST(FoldExactnessOf, MuchIsFolded) {
  int halved = 0, undisturbed = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    RandomTraffic random(seed);
    auto folded = fold(random.traffic);
    halved += 2 * flow_count(folded) <= flow_count(unfold(random.traffic));
    undisturbed += !folded.is_contended();
  }
  EXPECT_GE(halved, 33);
  EXPECT_GE(undisturbed, 33);
}

}  // namespace
}  // namespace ddpsim
