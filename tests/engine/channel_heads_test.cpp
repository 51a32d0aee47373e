// Around a NIC that is slow or broken NCCL's trees and NVLSTree go as its rings do.
#include "sim/cost/channel_heads.hpp"

#include <array>

#include <gtest/gtest.h>

#include "sim/collective/link_load.hpp"
#include "sim/collective/verify.hpp"
#include "sim/cost/communication.hpp"

#include "tests/engine/link_changes.hpp"
#include "tests/engine/nccl_scenarios.hpp"

namespace ddpsim::testing {
namespace {

struct Machine {
  std::shared_ptr<const Topology> topology;
  std::shared_ptr<const Cluster> cluster;
  explicit Machine(const std::string& text, int gpus, const std::vector<LinkOverride>& changes = {})
      : topology(topology_of(text)), cluster(topology->build(gpus, changes)) {}

  [[nodiscard]] std::vector<int> heads() const {
    auto gpus = all_gpus(*cluster);
    return channel_heads(*cluster, gpus, ranks_by_node(*cluster, gpus));
  }
  [[nodiscard]] std::array<CollectiveSchedule, 2> schedules() const {
    auto gpus = all_gpus(*cluster);
    return {all_reduce_schedule(*cluster, gpus, {Algorithm::nvls_tree, std::nullopt, true}),
            nccl_tree_schedule(*cluster, gpus)};
  }
  [[nodiscard]] double seconds_per_byte(const CollectiveSchedule& schedule) const {
    return heaviest_link(schedule, [&](int link) { return cluster->link(link).bandwidth; }).seconds_per_byte;
  }
};

const std::vector<int> kAllBut3{0, 1, 2, 4, 5, 6, 7};

TEST(ChannelHeads, AreAllWhereNicsAreAlike) {
  EXPECT_TRUE(Machine(kH100s, 32).heads().empty());
  EXPECT_TRUE(Machine(kH100s, 8).heads().empty());
  EXPECT_TRUE(Machine(kSharedNics, 8).heads().empty());
  EXPECT_TRUE(
      Machine(kH100s, 32, {slower("node1.nic3", 44)}).heads().empty());  // 8 x 44 are more than 7 x 50
}

TEST(ChannelHeads, LeaveOutTheSlowNicOfOneNodeInAll) {
  EXPECT_EQ(Machine(kH100s, 32, {slower("node1.nic3", 5)}).heads(), kAllBut3);
  EXPECT_EQ(Machine(kH100s, 16, {slower("node0.nic3", 43)}).heads(), kAllBut3);
  EXPECT_EQ(Machine(kH100s, 32, {slower("node1.nic3", 5), slower("node2.nic5", 5)}).heads(),
            (std::vector<int>{0, 1, 2, 4, 6, 7}));
}

// Its GPU shares another's NIC: one of the two heads no channel.
TEST(ChannelHeads, AreSevenBesideABrokenNic) {
  EXPECT_EQ(Machine(kH100s, 32, {broken("node1.nic3")}).heads().size(), 7U);
}

// Over a NIC of 50 GB/s go two trees of an eighth of the buffer, or of a seventh.
TEST(ChannelHeads, TreesAndNvlsTakeAnEighthLonger) {
  Machine whole(kH100s, 32);
  auto usual = whole.schedules();
  for (const auto& change : {slower("node1.nic3", 5), broken("node1.nic3")}) {
    Machine changed(kH100s, 32, {change});
    auto schedules = changed.schedules();
    for (std::size_t i = 0; i < schedules.size(); ++i)
      EXPECT_NEAR(changed.seconds_per_byte(schedules[i]) / whole.seconds_per_byte(usual[i]), 8.0 / 7, 1e-9)
          << usual[i].algorithm << " " << change.broken;
  }
}

TEST(ChannelHeads, SchedulesStayAllReduces) {
  for (int gpus : {16, 24, 40}) {
    Machine machine(kH100s, gpus, {slower("node1.nic0", 5), slower("node0.nic6", 9)});
    for (const auto& schedule : machine.schedules())
      EXPECT_EQ(find_schedule_error(schedule).value_or("none"), "none") << gpus;
  }
}

}  // namespace
}  // namespace ddpsim::testing
