#include "sim/report/label_placement.hpp"

#include <gtest/gtest.h>

namespace ddpsim::test {
namespace {

TEST(LabelPlacement, PutsALoneLabelBelowItsPoint) {
  LabelPlacement labels({0, 0, 400, 300});
  auto place = labels.place({200, 150}, 80, 16);
  ASSERT_TRUE(place);
  EXPECT_DOUBLE_EQ(place->x, 200);  // centred
  EXPECT_DOUBLE_EQ(place->y, 169);  // below 150: 11 px of gap, and half of 16 px of text
}

TEST(LabelPlacement, MovesOffACurve) {
  LabelPlacement labels({0, 0, 400, 300});
  labels.add_line({0, 170}, {400, 170});
  auto place = labels.place({200, 150}, 80, 16);
  ASSERT_TRUE(place);
  EXPECT_DOUBLE_EQ(place->y, 131);  // above
}

TEST(LabelPlacement, LabelsNeverOverlap) {
  LabelPlacement labels({0, 0, 400, 300});
  std::vector<Pixel> placed;
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
  EXPECT_GE(place->x, 40);
  EXPECT_GE(place->y, 8);
  EXPECT_FALSE(labels.place({200, 150}, 500, 16));
}

}  // namespace
}  // namespace ddpsim::test
