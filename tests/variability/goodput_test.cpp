#include "sim/variability/goodput.hpp"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

namespace ddpsim {
namespace {

// 419 unexpected interruptions in 54 days of 16,384 GPUs: Llama 3, arxiv.org/abs/2407.21783, 3.3.4.
constexpr int kGpus = 16384;
const Seconds kMtbf(54 * 86400.0 / 419 * kGpus);

Failures failures(double checkpoint, double restart = 0) {
  return {.mtbf = kMtbf, .checkpoint = Seconds(checkpoint), .restart = Seconds(restart), .interval = {}};
}

TEST(Goodput, ShortCheckpointsAreAsFarApartAsYoungSays) {
  for (double checkpoint : {0.001, 0.1, 10.0}) {
    auto goodput = goodput_of(failures(checkpoint), kGpus);
    double young = std::sqrt(2 * checkpoint * goodput.mtbf.value());
    EXPECT_NEAR(goodput.interval.value() / young, 1, young / goodput.mtbf.value()) << checkpoint;
    EXPECT_NEAR(1 - goodput.share, young / goodput.mtbf.value(), std::pow(young / goodput.mtbf.value(), 2));
  }
}

// The two ways to its root agree where they meet, and the shorter one has digits left for a nanosecond.
TEST(Goodput, CheckpointsOfNoTimeToSpeakOf) {
  auto interval = [](double ratio) {
    return goodput_of({.mtbf = Seconds(1e8), .checkpoint = Seconds(ratio * 1e8), .restart = {}}, 1)
        .interval.value();
  };
  EXPECT_NEAR(interval(0.4999e-6) / interval(0.5001e-6), std::sqrt(0.4999 / 0.5001), 1e-6);
  EXPECT_NEAR(interval(1e-17) / std::sqrt(2e-17 * 1e16), 1, 1e-8);
  EXPECT_NEAR(goodput_of({.mtbf = Seconds(1e8), .checkpoint = Seconds(1e-9), .restart = {}}, 1).share, 1,
              1e-8);
}

// His equation 37.
TEST(Goodput, LongOnesAsDalySays) {
  for (double checkpoint : {60.0, 600.0, 3000.0}) {
    auto goodput = goodput_of(failures(checkpoint), kGpus);
    double ratio = checkpoint / (2 * goodput.mtbf.value());
    double daly = std::sqrt(2 * checkpoint * goodput.mtbf.value()) * (1 + std::sqrt(ratio) / 3 + ratio / 9) -
                  checkpoint;
    EXPECT_NEAR(goodput.interval.value() / daly, 1, 0.01) << checkpoint;
  }
}

TEST(Goodput, NoOtherIntervalIsBetter) {
  auto best = goodput_of(failures(120, 600), kGpus);
  for (double other : {0.5, 0.95, 1.05, 2.0}) {
    auto given = failures(120, 600);
    given.interval = other * best.interval;
    EXPECT_LT(goodput_of(given, kGpus).share, best.share) << other;
  }
}

// Second by second, so to speak: steps, checkpoints and restarts, each cut short by whatever fails.
TEST(Goodput, AsDrawn) {
  auto given = failures(300, 900);
  given.interval = Seconds(3000);
  auto goodput = goodput_of(given, kGpus);
  std::mt19937_64 engine(1);
  auto next = [&] {
    return -goodput.mtbf.value() * std::log1p(-std::generate_canonical<double, 53>(engine));
  };
  double time = 0, useful = 0, failure = next();
  auto lasts = [&](double span) {  // whether it ends before the next failure
    if (time + span <= failure) {
      time += span;
      return true;
    }
    time = failure;
    failure += next();
    return false;
  };
  for (int segment = 0; segment < 200'000; ++segment) {
    while (!lasts(3300))
      while (!lasts(900)) {
      }
    useful += 3000;
  }
  EXPECT_NEAR(useful / time, goodput.share, 0.002);
}

TEST(Goodput, FallsWithTheGpus) {
  double last = 1;
  for (int gpus : {8, 1024, 16384, 262144}) {
    auto goodput = goodput_of(failures(60, 600), gpus);
    EXPECT_DOUBLE_EQ(goodput.mtbf.value() * gpus, kMtbf.value());
    EXPECT_LT(goodput.share, last);
    last = goodput.share;
  }
  EXPECT_GT(last, 0);
}

}  // namespace
}  // namespace ddpsim
