#include "sim/calibrate/slowdown_fit.hpp"

#include <cmath>

#include <gtest/gtest.h>

namespace ddpsim::calibrate {
namespace {

// Times in us.
TimedWork work(std::uint64_t kind, double duration, double beside,
               std::vector<WorkIdentity> identities = {}) {
  if (identities.empty()) identities = {{kind}};
  return {kind, std::move(identities), Seconds(1e-6 * duration), Seconds(1e-6 * beside)};
}

TimedWork disturbed(TimedWork work) {
  work.disturbed = true;
  return work;
}

using Works = std::vector<TimedWork>;

// 100 us alone, 125 beside: 1 + s = 1.25.
TEST(FitSlowdown, AllOfAKernelBeside) {
  auto fit = fit_slowdown(Works{work(1, 100, 0), work(1, 125, 125)});
  EXPECT_NEAR(fit.slowdown, 0.25, 1e-12);
  EXPECT_EQ(fit.kinds, 1u);
  EXPECT_EQ(fit.compared.count, 1u);
  EXPECT_EQ(fit.standard_error, std::nullopt);
  EXPECT_NEAR(fit.median, 0.25, 1e-12);
}

// 50 us beside do 50 / 1.25 = 40 us of its work, and the other 60 us of it run alone.
TEST(FitSlowdown, PartOfAKernelBeside) {
  EXPECT_NEAR(fit_slowdown(Works{work(1, 100, 0), work(1, 110, 50)}).slowdown, 0.25, 1e-12);
}

TEST(FitSlowdown, TheMedianAloneCounts) {
  auto fit = fit_slowdown(Works{work(1, 96, 0), work(1, 100, 0), work(1, 105, 0), work(1, 125, 125)});
  EXPECT_NEAR(fit.slowdown, 0.25, 1e-12);
}

// Of 1200 us beside 100 are lost, all in one kind: s = 100 / 1100, as one lane of compute loses it. Residuals
// of the kinds: -1000 / 12 and 100 - 200 / 12, so the share's error is sqrt(2 x 2 x 83.3^2) / 1200 = 0.1389,
// and that of s the (12 / 11)^2-fold.
TEST(FitSlowdown, KindsCountByTheirTime) {
  Works works{work(1, 1000, 0), work(1, 1000, 1000), work(2, 100, 0), work(2, 200, 200)};
  auto fit = fit_slowdown(works);
  EXPECT_NEAR(fit.slowdown, 1.0 / 11, 1e-12);
  EXPECT_NEAR(*fit.standard_error, 0.138889 * 144 / 121, 1e-6);
  EXPECT_EQ(fit.lower_quartile, 0);
  EXPECT_EQ(fit.upper_quartile, 0);
  works.push_back(work(2, 200, 200));
  EXPECT_NEAR(fit_slowdown(works).upper_quartile, 1, 1e-12);  // 400 of 1400 us
}

// Work alone that differs does not do the same, and what ran beside may be either.
TEST(FitSlowdown, UnequalTimesAloneAreNotCompared) {
  Works works{work(1, 100, 0), work(1, 111, 0), work(1, 150, 150)};
  auto fit = fit_slowdown(works);
  EXPECT_EQ(fit.kinds, 0u);
  EXPECT_EQ(fit.unequal.count, 1u);
  EXPECT_EQ(fit.unequal.beside, Seconds(150e-6));
  works.push_back(work(2, 10, 0));
  works.push_back(work(2, 12, 12));
  fit = fit_slowdown(works);
  EXPECT_EQ(fit.kinds, 1u);
  EXPECT_NEAR(fit.slowdown, 0.2, 1e-12);
}

TEST(FitSlowdown, TheSurestIdentityCounts) {
  const WorkIdentity place{1, 7}, neighbours{2, 7};
  Works works{work(1, 100, 0, {place}), work(1, 50, 0, {neighbours}), work(1, 125, 125, {place, neighbours})};
  EXPECT_NEAR(fit_slowdown(works).slowdown, 0.25, 1e-12);
  works.push_back(work(1, 150, 0, {place}));  // not equal any more
  EXPECT_NEAR(fit_slowdown(works).slowdown, 1.5, 1e-12);
}

TEST(FitSlowdown, AReferenceServesWhatNeverRanAlone) {
  Works works{work(1, 125, 125), work(2, 100, 0), work(2, 150, 150)},
      reference{work(1, 100, 0), work(2, 1, 0)};
  EXPECT_EQ(fit_slowdown(works).never_alone.count, 1u);
  EXPECT_NEAR(fit_slowdown(works).slowdown, 0.5, 1e-12);
  auto fit = fit_slowdown(works, reference);
  EXPECT_EQ(fit.compared.count, 2u);
  EXPECT_NEAR(fit.slowdown, 75.0 / 200, 1e-12);
  reference[0].beside = Seconds(1e-6);  // not alone there either
  EXPECT_EQ(fit_slowdown(works, reference).never_alone.count, 1u);
}

TEST(FitSlowdown, NothingBeside) {
  auto fit = fit_slowdown(Works{work(1, 100, 0), work(1, 100, 0)});
  EXPECT_EQ(fit.all.count, 0u);
  EXPECT_EQ(fit.kinds, 0u);
}

TEST(FitSlowdown, EverythingBeside) {
  auto fit = fit_slowdown(Works{work(1, 100, 100), work(2, 100, 50)});
  EXPECT_EQ(fit.kinds, 0u);
  EXPECT_EQ(fit.all.count, 2u);
  EXPECT_EQ(fit.never_alone.count, 2u);
  EXPECT_EQ(fit.never_alone.beside, Seconds(150e-6));
}

TEST(FitSlowdown, DisturbedWorkIsNeitherComparedNorComparedWith) {
  Works works{work(1, 100, 0), disturbed(work(1, 200, 0)), work(1, 125, 125), disturbed(work(1, 300, 300))};
  auto fit = fit_slowdown(works);
  EXPECT_NEAR(fit.slowdown, 0.25, 1e-12);
  EXPECT_EQ(fit.all.count, 2u);
  EXPECT_EQ(fit.disturbed.count, 1u);
}

TEST(FitSlowdown, FasterBesideIsSaid) {
  EXPECT_NEAR(fit_slowdown(Works{work(1, 100, 0), work(1, 80, 80)}).slowdown, -0.2, 1e-12);
}

// However slow, 10 us cannot lose 50.
TEST(FitSlowdown, MoreLostThanThereWasTime) {
  EXPECT_TRUE(std::isinf(fit_slowdown(Works{work(1, 100, 0), work(1, 150, 10)}).slowdown));
}

// 102 and 51 us here, 100 and 50 there.
TEST(FitSlowdown, Drift) {
  Works works{work(1, 102, 0), work(2, 51, 0), work(3, 1, 0), work(1, 130, 130)};
  Works reference{work(1, 100, 0), work(2, 50, 0)};
  EXPECT_NEAR(*fit_slowdown(works, reference).drift, 0.02, 1e-12);
  EXPECT_EQ(fit_slowdown(works).drift, std::nullopt);
}

}  // namespace
}  // namespace ddpsim::calibrate
