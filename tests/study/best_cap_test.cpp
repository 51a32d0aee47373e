// The best cap of few gradients, found by hand and by trying every cap.
#include "sim/study/best_cap.hpp"

#include <gtest/gtest.h>

#include "sim/study/point_runs.hpp"

#include "tests/support/errors.hpp"
#include "tests/support/temporary_folder.hpp"

namespace ddpsim {
namespace {

class BestCapTest : public ::testing::Test {
 protected:
  // Eight gradients of 4 MiB, 1 ms apart, on 8 GPUs.
  void SetUp() override {
    std::string trace = "# ddpsim-trace: 1\ngradient,elements,dtype,ready_s\n";
    for (int i = 1; i <= 8; ++i)
      trace += "g" + std::to_string(i) + ",1048576,float32,0.00" + std::to_string(i) + "\n";
    folder.write("trace.csv", trace);
  }
  config::Value scenario(const std::string& more = "") const {
    std::string text =
        "workload: {trace: trace.csv}\ncluster: {topology: ring-100gbps, world_size: 8}\n" + more;
    return config::parse_yaml({make_source("scenario", text), text}, "a scenario");
  }
  Seconds under(Bytes cap, const std::string& more = "") {
    auto root = scenario("ddp: {bucket_cap: " + std::to_string(static_cast<std::int64_t>(cap.value())) + "B" +
                         more + "}\n");
    auto read = resolve(files, root);
    Seconds iteration;
    run_points(unchanged({&read, 1}), 1,
               [&](std::size_t, const Prediction&, const IterationMetrics& metrics) {
                 iteration = metrics.iteration;
               });
    return iteration;
  }

  testing::TemporaryFolder folder;
  Files files{folder.path("scenario.yaml")};
};

TEST_F(BestCapTest, NoCapIsBetter) {
  auto best = best_cap(scenario(), files, true, 1);
  EXPECT_EQ(under(best.cap), best.iteration);
  for (double mib = 0.5; mib < 40; mib += 0.5) EXPECT_GE(under(Bytes(mib * 0x1p20)), best.iteration) << mib;
  // Of all gradients in one bucket nothing is hidden: 14 hops of 5 us and 7/4 of 32 MiB at 12.5 GB/s.
  EXPECT_NEAR(under(Bytes(100 * 0x1p20)).value(), 0.008 + 14 * 5e-6 + 1.75 * 8 * 4 * 0x1p20 / 12.5e9, 2e-3);
}

TEST_F(BestCapTest, ThePlateauEndsWhereItSays) {
  auto best = best_cap(scenario(), files, true, 1);
  EXPECT_LE(best.plateau_least, best.cap);
  EXPECT_LE(under(best.plateau_least), best.iteration * (1 + kPlateau));
  EXPECT_GT(best.plateau_least, Bytes(0));
  if (best.plateau_most) {
    EXPECT_LE(under(*best.plateau_most), best.iteration * (1 + kPlateau));
    EXPECT_GT(under(*best.plateau_most + Bytes(1)), best.iteration * (1 + kPlateau));
  }
}

TEST_F(BestCapTest, TheDefaultIsPyTorchs) {
  auto best = best_cap(scenario("ddp: {bucket_cap: 1MiB}\n"), files, true, 1);
  EXPECT_EQ(best.default_cap, Bytes(25 * 0x1p20));
  auto usual = best_cap(scenario(), files, true, 1);
  EXPECT_EQ(best.with_default, usual.with_default);
  EXPECT_EQ(best.cap, usual.cap);
  EXPECT_GE(best.with_default, best.iteration);
}

TEST_F(BestCapTest, SomeCapsAreTriedInsteadOfAll) {
  auto some = best_cap(scenario(), files, false, 1), exact = best_cap(scenario(), files, true, 1);
  EXPECT_EQ(some.tried, 37U);  // 41, of which the first nine round to 1, 2, 3 and 4 MiB
  EXPECT_GE(some.iteration, exact.iteration);
  EXPECT_EQ(under(some.cap), some.iteration);
  EXPECT_LE(some.plateau_least, some.cap);
  EXPECT_GE(some.plateau_most.value_or(some.cap), some.cap);
}

// Without a cap the first bucket has 1 MiB; with one, be it the default, it has the cap.
TEST_F(BestCapTest, SayingTheDefaultIsNotAlwaysSayingNothing) {
  for (bool exact : {true, false}) {
    auto best = best_cap(scenario("ddp: {find_unused_parameters: true}\n"), files, exact, 1);
    EXPECT_EQ(under(best.cap, ", find_unused_parameters: true"), best.iteration);
    EXPECT_LE(best.plateau_least, best.cap);
    EXPECT_GE(best.plateau_most.value_or(best.cap), best.cap);
  }
}

TEST_F(BestCapTest, AStrategyWithoutCaps) {
  auto message = testing::input_error([&] { best_cap(scenario("strategy: flat\n"), files, true, 1); });
  EXPECT_NE(message.find("ddp.bucket_cap"), std::string::npos) << message;
}

}  // namespace
}  // namespace ddpsim
