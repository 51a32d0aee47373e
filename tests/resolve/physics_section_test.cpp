// The section `physics` of a scenario, and files of calibrated interference.
#include <gtest/gtest.h>

#include "sim/resolve/sections.hpp"
#include "sim/text/physics_calibration.hpp"

#include "tests/config/text.hpp"
#include "tests/support/temporary_folder.hpp"

namespace ddpsim::testing {
namespace {

Physics read(const std::string& text, const DdpOptions& options = {}, const GpuDescription* gpu = nullptr) {
  return read_physics(Files(""), read_partial_job(parse(text)), gpu, ReductionPlan(), options);
}

std::string error_of(const std::string& text) {
  return brief_error([&] { read(text); });
}

TEST(PhysicsSection, NothingIsThePlainModel) {
  EXPECT_TRUE(read("strategy: ddp\n").is_off());
  EXPECT_TRUE(read("physics: {}\n").is_off());
  EXPECT_TRUE(read("physics: {interference: 0, passes: none, launch: 0s}\n").is_off());
}

TEST(PhysicsSection, EveryKey) {
  auto physics = read(
      "physics:\n"
      "  interference: {compute: 0.3, collective: 0.1}\n"
      "  passes: {in: 0.5, out: 2}\n"
      "  pass_bandwidth: 2TB/s\n"
      "  pass_launch: 5us\n"
      "  gradient: 4us\n"
      "  launch: 10us\n"
      "  first_start: 40us\n");
  EXPECT_FALSE(physics.is_off());
  EXPECT_EQ(physics.interference, (Interference{0.3, 0.1}));
  const auto& overheads = physics.overheads;
  EXPECT_EQ(overheads.pass_bandwidth, BytesPerSecond(2e12));
  EXPECT_EQ(overheads.passes, (Passes{0.5, 2}));
  EXPECT_EQ(overheads.passes_of_one, (Passes{0.5, 2}));
  EXPECT_DOUBLE_EQ(overheads.pass_launch.value(), 5e-6);
  EXPECT_DOUBLE_EQ(overheads.gradient.value(), 4e-6);
  EXPECT_DOUBLE_EQ(overheads.launch.value(), 10e-6);
  EXPECT_DOUBLE_EQ(overheads.first_start.value(), 40e-6);
  EXPECT_EQ(read("physics: {interference: 0.25}\n").interference, (Interference{0.25, 0.25}));
}

// What implementations do, not what fits.
TEST(PhysicsSection, PassesAreThoseOfTheImplementation) {
  auto passes = [](const char* strategy, const DdpOptions& options) {
    auto overheads =
        read(fmt::format("strategy: {}\nphysics: {{pass_bandwidth: 1TB/s}}\n", strategy), options).overheads;
    return std::pair(overheads.passes, overheads.passes_of_one);
  };
  constexpr Passes kDivision{0, 1};
  DdpOptions options;
  EXPECT_EQ(passes("ddp", options), std::pair(Passes{1, 1}, Passes{1, 1}));
  EXPECT_EQ(passes("naive", options), std::pair(kDivision, kDivision));
  EXPECT_EQ(passes("overlap", options), std::pair(kDivision, kDivision));
  EXPECT_EQ(passes("flat", options), std::pair(Passes{1, 2}, kDivision));
  options.gradient_as_bucket_view = true;
  EXPECT_EQ(passes("ddp", options), std::pair(Passes{1, 0}, Passes{1, 0}));
  options.rule = BucketRule::close_before_exceeding;
  EXPECT_EQ(passes("ddp", options), std::pair(Passes{1, 2}, kDivision));
}

// 2 TB/s, of which copies reach 0.5; s from 0.1 to 0.5, r from 0.2 to 0.4.
TEST(PhysicsSection, WhatAGpuSays) {
  GpuDescription gpu;
  gpu.memory_bandwidth = BytesPerSecond(2e12);
  gpu.copy_efficiency = 0.5;
  gpu.copy_launch = Seconds(4e-6);
  gpu.compute_slowdown = {0.1, 0.5};
  gpu.collective_slowdown = {0.2, 0.4};
  auto physics = read("strategy: ddp\n", {}, &gpu);
  EXPECT_DOUBLE_EQ(physics.interference.compute, 0.3);
  EXPECT_DOUBLE_EQ(physics.interference.collective, 0.3);
  ASSERT_TRUE(physics.range);
  EXPECT_EQ(physics.range->least.interference, (Interference{0.1, 0.2}));
  EXPECT_EQ(physics.range->most.interference, (Interference{0.5, 0.4}));
  EXPECT_EQ(physics.spread, (Spread{0.02, 0}));
  EXPECT_EQ(physics.range->least.spread, (Spread{0.01, 0}));
  EXPECT_EQ(physics.range->most.spread, (Spread{0.03, 0}));
  EXPECT_EQ(physics.overheads.pass_bandwidth, BytesPerSecond(1e12));
  EXPECT_EQ(physics.overheads.pass_launch, Seconds(4e-6));
  EXPECT_EQ(physics.overheads.passes, (Passes{1, 1}));
  physics = read("physics: {interference: 0.2, pass_bandwidth: 3TB/s}\n", {}, &gpu);
  // What is given has no range; the spread is not.
  ASSERT_TRUE(physics.range);
  EXPECT_EQ(physics.range->least.interference, physics.range->most.interference);
  EXPECT_EQ(physics.interference, (Interference{0.2, 0.2}));
  physics = read("physics: {interference: 0.2}\nspread: {ranks: 0.01, nodes: 0.03}\n", {}, &gpu);
  EXPECT_FALSE(physics.range);
  EXPECT_EQ(physics.spread, (Spread{0.01, 0.03}));
  EXPECT_TRUE(read("physics: none\n", {}, &gpu).is_off());
  physics = read("physics: {interference: 0.2, pass_bandwidth: 3TB/s}\n", {}, &gpu);
  EXPECT_EQ(physics.overheads.pass_bandwidth, BytesPerSecond(3e12));
  EXPECT_EQ(physics.overheads.pass_launch, Seconds(0));
}

TEST(PhysicsSection, Errors) {
  EXPECT_EQ(error_of("physics: {passes: auto}\n"),
            "a.yaml:1:19-22: nothing says how long a pass over memory takes; set physics.pass_bandwidth, at "
            "most the GPU's memory bandwidth, or cluster.gpu");
  EXPECT_EQ(error_of("physics: {interference: 0.1, calibration: a.yaml}\n"),
            "a.yaml:1:43-48: physics.calibration and physics.interference exclude each other; remove one of "
            "the two");
}

TEST(PhysicsCalibration, IsReadAsItWasWritten) {
  TemporaryFolder folder;
  PhysicsCalibration calibration{{0.315, 0.28}, "lab \"A\""};
  auto path = folder.write("physics.yaml",
                           write_physics_calibration(calibration, "rows.csv, strategy overlap: 0.3 s"));
  auto again = read_physics_calibration(path);
  EXPECT_EQ(again.interference, calibration.interference);
  EXPECT_EQ(again.run_set, calibration.run_set);
  EXPECT_EQ(read("physics: {calibration: " + path + "}\n").interference, calibration.interference);
}

}  // namespace
}  // namespace ddpsim::testing
