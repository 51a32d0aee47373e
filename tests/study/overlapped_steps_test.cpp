// Overlapped steps that were measured weigh draws of interference, compute and networks together.
#include "sim/study/overlapped_steps.hpp"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/resolve/resolve.hpp"
#include "sim/study/simulate_once.hpp"
#include "sim/text/physics_calibration.hpp"

#include "tests/support/temporary_folder.hpp"

namespace ddpsim {
namespace {

using ::testing::HasSubstr;

class OverlappedSteps : public ::testing::Test {
 protected:
  Scenario scenario(const std::string& more = "") {
    auto path = folder_.write("scenario.yaml", "workload: {trace: " DDPSIM_SOURCE_DIR
                                               "/traces/gpt2-large-a100-bs4.csv}\n"
                                               "cluster: {topology: p4d, world_size: 64}\n" +
                                                   more);
    return resolve(Files(path), config::load_yaml(path, "a scenario"));
  }
  static IterationMetrics metrics(const Scenario& of) { return simulate_once(of).metrics; }
  static double width(const IterationMetrics& of) { return of.uncertainty->likely().width(); }
  // With interference of as much, and a step that takes so many times as long as with it.
  OverlappedStep step(double level, double times = 1, const std::string& more = "") {
    auto of = scenario(more);
    of.physics.interference = {level, level};
    of.physics.range.reset();
    OverlappedStep made{"the job", scenario(more), times * metrics(of).iteration};
    made.scenario.physics.interference = {level, level};
    return made;
  }
  // A scenario that names the calibration to them.
  std::string calibrated(double level, std::vector<OverlappedStep> steps, double off = 0) {
    auto text =
        write_physics_calibration({{level, level}}, "steps", evidence_of(std::move(steps), off, false));
    return "physics: {calibration: " + folder_.write("physics.yaml", text) + "}\n";
  }

  testing::TemporaryFolder folder_;
};

// What was fitted is still in doubt, as far as compute and the network could be what the step took.
TEST_F(OverlappedSteps, NarrowTheJobAndKeepInterferenceInDoubt) {
  auto before = metrics(scenario()), after = metrics(scenario(calibrated(0.45, {step(0.45)})));
  EXPECT_NEAR(after.iteration / step(0.45).measured, 1, 1e-6);
  EXPECT_LT(width(after), 0.6 * width(before));
  auto [least, most] = after.uncertainty->likely();
  EXPECT_LT(least, after.iteration);
  EXPECT_GT(most, after.iteration);
  bool has_interference = std::ranges::any_of(after.uncertainty->parts(), [](const auto& part) {
    return part.of->moves == Moves::interference && part.width > 0.01;
  });
  EXPECT_TRUE(has_interference);
}

// What is known of one job is known of another as far as they share it: without overlap only how slow the
// network is not.
TEST_F(OverlappedSteps, TellOfOtherJobsWhatTheyShare) {
  auto physics = calibrated(0.45, {step(0.45)});
  auto narrowing = [&](const std::string& job) {
    return width(metrics(scenario(job + physics))) / width(metrics(scenario(job)));
  };
  double caps = narrowing("ddp: {bucket_cap: 100MiB}\n"), flat = narrowing("strategy: flat\n");
  EXPECT_LT(caps, 0.7);
  EXPECT_LT(caps, flat);
  EXPECT_LT(flat, 1);
}

// A fit that leaves rows off says that a row may be as far off.
TEST_F(OverlappedSteps, AreOffByWhatAFitLeavesOff) {
  auto exact = metrics(scenario(calibrated(0.45, {step(0.45)})));
  auto loose = metrics(scenario(calibrated(0.45, {step(0.45)}, 0.1)));
  EXPECT_GT(width(loose), 1.3 * width(exact));
}

TEST_F(OverlappedSteps, BothOfTwoCount) {
  auto one = metrics(scenario(calibrated(0.45, {step(0.45)}, 0.05)));
  auto second = step(0.45, 1, "ddp: {bucket_cap: 100MiB}\n");
  second.job = "another";
  auto two = metrics(scenario(calibrated(0.45, {step(0.45), second}, 0.05)));
  EXPECT_LT(width(two), width(one));
}

// By these draws it takes at most some 1.6 times as long.
TEST_F(OverlappedSteps, OfAnotherJobAreRefused) {
  try {
    evidence_of({step(0.45, 3)}, 0, false);
    FAIL() << "a step three times as long is that of something else";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("what is described is not what was measured"));
  }
  EXPECT_TRUE(evidence_of({step(0.45, 3)}, 0, true).measured.empty());
}

// Without evidence a calibration is a number.
TEST_F(OverlappedSteps, SayNothingWithoutEvidence) {
  EXPECT_TRUE(evidence_of({step(0.45, 1, "evidence: none\n")}, 0, false).measured.empty());
  auto text = write_physics_calibration({{0.45, 0.45}}, "steps");
  auto bare = scenario("physics: {calibration: " + folder_.write("bare.yaml", text) + "}\n");
  EXPECT_TRUE(std::ranges::none_of(
      bare.doubts, [](const Doubt& doubt) { return doubt.of->moves == Moves::interference; }));
}

}  // namespace
}  // namespace ddpsim
