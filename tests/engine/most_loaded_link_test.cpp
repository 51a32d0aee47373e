// The link that all-reduces keep busy for longest.
#include "sim/engine/most_loaded_link.hpp"

#include <gtest/gtest.h>

#include "tests/engine/nccl_scenarios.hpp"

namespace ddpsim::testing {
namespace {

// 1 MB and 3 MB.
LayerTrace four_megabytes() {
  return make_trace({1, 3}, {1, 2});
}

// Over each link of a ring of 4 go 2 x 3/4 of 4 MB.
TEST(MostLoadedLink, OfARing) {
  std::vector<RingLink> links(4, {5, 10});
  auto most = most_loaded_link(make_scenario(four_megabytes(), links, Reducer::ddp, cap(Bytes(1e6))));
  EXPECT_EQ(most->link, 0);
  EXPECT_EQ(most->as_loaded, 4);
  EXPECT_NEAR(most->busy.value(), 6e6 / 10e9, 1e-15);
  links[2].bandwidth_GBps = 2;
  most = most_loaded_link(make_scenario(four_megabytes(), links, Reducer::ddp, cap(Bytes(1e6))));
  EXPECT_EQ(most->link, 2);
  EXPECT_EQ(most->as_loaded, 1);
  EXPECT_NEAR(most->busy.value(), 6e6 / 2e9, 1e-15);
}

TEST(MostLoadedLink, NeedsLinks) {
  auto scenario = base_scenario(four_megabytes(), Reducer::ddp, cap(Bytes(1e6)), 2);
  scenario.measured_table = std::make_shared<const MeasuredTable>(
      MeasuredTable{{{Operation::all_reduce, {MeasuredCost({{Bytes(1e6), Seconds(1), Seconds(1)}})}}}, 2});
  EXPECT_FALSE(most_loaded_link(scenario));
}

// Two groups share each NIC of 25 GB/s: twice 2 x 3/4 of 102.4 MB, over the NICs' cables, one each way.
TEST(MostLoadedLink, OfAllGroupsTogether) {
  NcclCase shared;
  shared.topology = kSharedNics;
  shared.world_size = 8;
  shared.cluster = ", groups: {tensor_parallel: 2}";
  shared.collective = "algorithm: ring";
  auto scenario = shared.read();
  auto most = most_loaded_link(scenario);
  EXPECT_NEAR(most->busy.value(), 2 * 1.5 * 102.4e6 / 25e9, 1e-12);
  EXPECT_EQ(most->as_loaded, 8);
}

// Of NCCL's stages only the one that is picked: here a ring, with an eighth of the channels' traffic a NIC.
TEST(MostLoadedLink, OfWhatNcclPicks) {
  NcclCase one;
  one.collective = "nccl: {algorithm: ring}";
  auto busy = most_loaded_link(one.read())->busy;
  EXPECT_NEAR(busy.value(), 2 * 15.0 / 16 / 8 * 102.4e6 / 25e9, 1e-12);
  one.collective = "algorithm: auto";
  auto free = one.read();
  ASSERT_EQ(choices(free).front().candidate->algorithm, nccl::Algorithm::ring);
  EXPECT_EQ(most_loaded_link(free)->busy, busy);
}

}  // namespace
}  // namespace ddpsim::testing
