#include "sim/report/label_placement.hpp"

#include <gtest/gtest.h>

namespace ddpsim::test {
namespace {

TEST(LabelPlacement, PutsALoneLabelBelowItsPoint) {
  LabelPlacement labels({0, 0, 400, 300});
  auto place = labels.place({200, 150}, 80, 16);
  ASSERT_TRUE(place);
  EXPECT_DOUBLE_EQ(place->x, 160);  // centred: 200 - 80 / 2
  EXPECT_DOUBLE_EQ(place->y, 123);  // 11 px of gap and 16 px of text below 150
}

TEST(LabelPlacement, MovesOffACurve) {
  LabelPlacement labels({0, 0, 400, 300});
  labels.add_curve({{0, 130}, {400, 130}});
  auto place = labels.place({200, 150}, 80, 16);
  ASSERT_TRUE(place);
  EXPECT_DOUBLE_EQ(place->y, 161);  // above
}

TEST(LabelPlacement, LabelsNeverOverlap) {
  LabelPlacement labels({0, 0, 400, 300});
  std::vector<PixelPoint> placed;
  for (int i = 0; i < 40; ++i)
    if (auto place = labels.place({200, 150}, 80, 16)) placed.push_back(*place);
  EXPECT_GT(placed.size(), 3u);
  for (std::size_t i = 0; i < placed.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      EXPECT_TRUE(placed[i].x + 80 <= placed[j].x || placed[j].x + 80 <= placed[i].x ||
                  placed[i].y + 16 <= placed[j].y || placed[j].y + 16 <= placed[i].y);
}

TEST(LabelPlacement, StaysInsideThePlot) {
  LabelPlacement labels({0, 0, 400, 300});
  auto place = labels.place({0, 0}, 80, 16);
  ASSERT_TRUE(place);
  EXPECT_GE(place->x, 0);
  EXPECT_GE(place->y, 0);
  EXPECT_FALSE(labels.place({200, 150}, 500, 16));
}

}  // namespace
}  // namespace ddpsim::test
