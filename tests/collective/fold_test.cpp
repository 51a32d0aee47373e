#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/collective/schedule.hpp"

#include "tests/collective/rings.hpp"

namespace ddpsim {

// EdgeClass in readable form: {ring, representative, edges}.
bool operator==(const EdgeClass& a, const EdgeClass& b) {
  return a.ring == b.ring && a.representative == b.representative && a.edges == b.edges;
}
void PrintTo(const EdgeClass& c, std::ostream* out) {
  *out << "{" << c.ring << ", " << c.representative << ", " << c.edges << "}";
}

namespace {

using ::testing::ElementsAre;
using testing::RingLinks;

std::vector<EdgeClass> classes(const RingLinks& links) {
  return fold(links.all_reduce().stages[0]);
}

TEST(Fold, EqualEdgesAreOneClass) {
  EXPECT_THAT(classes(RingLinks(2)), ElementsAre(EdgeClass{0, 0, 2}));
  EXPECT_THAT(classes(RingLinks(1024)), ElementsAre(EdgeClass{0, 0, 1024}));
}

TEST(Fold, OneSlowEdge) {
  RingLinks links(8);
  links.bandwidths[3] = BytesPerSecond(6e9);
  EXPECT_THAT(classes(links), ElementsAre(EdgeClass{0, 0, 7}, EdgeClass{0, 3, 1}));
}

TEST(Fold, OneEdgeWithLargerLatency) {
  RingLinks links(8);
  links.latencies[0] = Seconds(50e-6);
  EXPECT_THAT(classes(links), ElementsAre(EdgeClass{0, 0, 1}, EdgeClass{0, 1, 7}));
}

// Edge 2 has a larger latency, edge 5 a lower bandwidth, edge 6 both, edge 7 is like edge 5.
TEST(Fold, LatencyAndBandwidthTellApart) {
  RingLinks links(8);
  links.latencies[2] = links.latencies[6] = Seconds(50e-6);
  links.bandwidths[5] = links.bandwidths[6] = links.bandwidths[7] = BytesPerSecond(6e9);
  EXPECT_THAT(classes(links),
              ElementsAre(EdgeClass{0, 0, 4}, EdgeClass{0, 2, 1}, EdgeClass{0, 5, 2}, EdgeClass{0, 6, 1}));
}

TEST(Fold, ClassesOfDifferentRingsStayApart) {
  auto stage = RingLinks(4).all_reduce().stages[0];
  stage.rings.push_back(stage.rings[0]);
  EXPECT_THAT(fold(stage), ElementsAre(EdgeClass{0, 0, 4}, EdgeClass{1, 0, 4}));
}

TEST(SharesLinks, NotInAPlainRing) {
  EXPECT_FALSE(shares_links(RingLinks(2).all_reduce()));
  EXPECT_FALSE(shares_links(RingLinks(24).all_reduce()));
}

TEST(SharesLinks, TwoEdgesOverOneLink) {
  auto schedule = RingLinks(4).all_reduce();
  schedule.stages[0].rings[0].edges[1].route = {1, 3};
  EXPECT_TRUE(shares_links(schedule));
}

TEST(SharesLinks, TwoRingsOverTheSameLinks) {
  auto schedule = RingLinks(4).all_reduce();
  schedule.stages[0].rings.push_back(schedule.stages[0].rings[0]);
  EXPECT_TRUE(shares_links(schedule));
}

TEST(SharesLinks, StagesFollowEachOther) {
  auto schedule = RingLinks(4).all_reduce();
  schedule.stages.push_back(schedule.stages[0]);
  EXPECT_FALSE(shares_links(schedule));
}

}  // namespace
}  // namespace ddpsim
