// Times on the virtual clock, derived by hand: a collective of n elements takes 1 ms + n us, see
// fake_gpu.hpp.
#include "validate/harness/runner.hpp"

#include "tests/validate/nccl/ranks.hpp"

namespace ddpsim::testing {
namespace {

using namespace literals;
using ::testing::ElementsAre;
using validate::CollectiveTimes;
using validate::NcclBackend;
using validate::StepTimes;

using Program = std::function<void(RecordedStep&)>;

// With and without calls of NCCL that return before the collective is in the stream.
class StepTest : public NcclTest, public ::testing::WithParamInterface<bool> {
 protected:
  StepTest() { FakeGpu::get().deferred = GetParam(); }

  // The times that each rank saw.
  static std::vector<StepTimes> run(int world_size, const Program& program) {
    std::vector<StepTimes> times(static_cast<std::size_t>(world_size));
    on_ranks(world_size, [&](NcclBackend& backend) {
      backend.allocate(4000);
      times[static_cast<std::size_t>(backend.rank())] = perform(backend, program);
    });
    return times;
  }
};
INSTANTIATE_TEST_SUITE_P(Enqueued, StepTest, ::testing::Values(false, true),
                         [](const auto& deferred) { return deferred.param ? "Later" : "AtOnce"; });

// In milliseconds.
void expect_times(const CollectiveTimes& times, double launch, double start, double end) {
  EXPECT_NEAR(times.launch.value(), 1e-3 * launch, 1e-8);
  EXPECT_NEAR(times.start.value(), 1e-3 * start, 1e-8);
  EXPECT_NEAR(times.end.value(), 1e-3 * end, 1e-8);
}

TEST_P(StepTest, CollectivesOverlapWithComputeAndQueueBehindEachOther) {
  for (const auto& times : run(2, [](RecordedStep& step) {
         step.compute(5_ms);
         step.all_reduce({0, 1000});  // 2 ms
         step.compute(1_ms);
         step.all_reduce({1000, 3000});  // 4 ms
         step.compute(10_ms);
         step.wait();
         step.compute(2_ms);
       })) {
    ASSERT_EQ(times.collectives.size(), 2u);
    expect_times(times.collectives[0], 5, 5, 7);
    expect_times(times.collectives[1], 6, 7, 11);
    EXPECT_NEAR(times.total.value(), 18e-3, 1e-8);  // 5 + 1 + 10 + 2: communication is hidden
  }
}

TEST_P(StepTest, ComputeWaitsForCollectivesThatTakeLonger) {
  for (const auto& times : run(2, [](RecordedStep& step) {
         step.compute(5_ms);
         step.all_reduce({0, 1000});
         step.compute(1_ms);
         step.all_reduce({1000, 3000});
         step.wait();
         step.compute(2_ms);
       }))
    EXPECT_NEAR(times.total.value(), 13e-3, 1e-8);  // 11 + 2
}

TEST_P(StepTest, WaitingIsForWhatWasLaunchedSoFar) {
  for (const auto& times : run(2, [](RecordedStep& step) {
         step.compute(1_ms);
         step.all_reduce({0, 1000});
         step.wait();
         step.all_reduce({1000, 3000});
         step.wait();
         step.wait();
         step.compute(1_ms);
         step.all_reduce({0, 3000});
         step.compute(1_ms);
       })) {
    expect_times(times.collectives[0], 1, 1, 3);
    expect_times(times.collectives[1], 3, 3, 7);
    expect_times(times.collectives[2], 8, 8, 12);
    EXPECT_NEAR(times.total.value(), 12e-3, 1e-8);  // compute ends at 9, the last collective later
  }
}

TEST_P(StepTest, AStragglerDelaysTheOthersCollectives) {
  FakeGpu::get().devices = 3;
  std::vector<StepTimes> times(3);
  on_ranks(3, [&](NcclBackend& backend) {
    backend.allocate(4000);
    auto step = recorded([](RecordedStep& one) {
      one.compute(5_ms);
      one.all_reduce({0, 1000});
      one.compute(1_ms);
    });
    times[static_cast<std::size_t>(backend.rank())] =
        backend.perform(step.step(), backend.rank() == 1 ? 1.8 : 1, ignore);
  });
  expect_times(times[0].collectives[0], 5, 5, 11);
  expect_times(times[1].collectives[0], 9, 9, 11);
  expect_times(times[2].collectives[0], 5, 5, 11);
}

// The gather waits for the first op only, and runs from 5 to 8 ms beside the second, which ends at 15 ms; the
// reduce-scatter waits for that, the optimizer for both.
TEST_P(StepTest, CollectivesThatWaitForEarlierOps) {
  on_ranks(2, [](NcclBackend& backend) {
    backend.allocate(4000);
    auto step = recorded([](RecordedStep& one) {
      one.compute(5_ms);
      one.compute(10_ms);
    });
    step.step().add(ddpsim::Operation::all_gather, {0, 2000}, {0});
    step.step().add(ddpsim::Operation::reduce_scatter, {2000, 2000}, {1});
    step.step().before_last_backward = 0;
    step.wait_for({2, 3});
    step.compute(1_ms);
    auto times = backend.perform(step.step(), 1, ignore);
    expect_times(times.collectives[0], 5, 5, 8);
    expect_times(times.collectives[1], 15, 15, 18);
    EXPECT_NEAR(times.backward_start.value(), 5e-3, 1e-8);
    EXPECT_NEAR(times.total.value(), 19e-3, 1e-8);
  });
}

// What nothing computed before starts with the step.
TEST_P(StepTest, CollectivesThatWaitForNothing) {
  on_ranks(2, [](NcclBackend& backend) {
    backend.allocate(4000);
    auto step = recorded([](RecordedStep& one) { one.compute(5_ms); });
    step.step().add(ddpsim::Operation::all_reduce, {0, 1000});
    auto times = backend.perform(step.step(), 1, ignore);
    expect_times(times.collectives[0], 0, 0, 2);
    EXPECT_NEAR(times.total.value(), 5e-3, 1e-8);
  });
}

TEST_P(StepTest, EachStepHasItsOwnClock) {
  on_ranks(2, [](NcclBackend& backend) {
    backend.allocate(4000);
    for (int repetition = 0; repetition < 3; ++repetition) {
      auto times = perform(backend, [](RecordedStep& step) {
        step.compute(5_ms);
        step.all_reduce({0, 1000});
      });
      ASSERT_EQ(times.collectives.size(), 1u);
      expect_times(times.collectives[0], 5, 5, 7);
    }
    EXPECT_EQ(perform(backend, [](RecordedStep&) {}).total, Seconds(0));
  });
}

TEST_P(StepTest, ManyCollectives) {
  constexpr std::size_t kMany = 700;
  auto times = run(2, [](RecordedStep& step) {
    for (std::size_t i = 0; i < kMany; ++i) {
      step.compute(2_ms);
      step.all_reduce({i, 1});  // 1.001 ms
    }
  });
  for (std::size_t i = 0; i < kMany; ++i) {
    double launch = 2.0 * static_cast<double>(i + 1);
    EXPECT_NEAR(times[0].collectives[i].launch.value(), 1e-3 * launch, 1e-6);  // float32 milliseconds
    EXPECT_NEAR(times[0].collectives[i].end.value(), 1e-3 * (launch + 1.001), 1e-6);
  }
}

TEST_P(StepTest, TellsWhatItWaitsForInOrder) {
  std::vector<std::size_t> told;
  on_ranks(1, [&](NcclBackend& backend) {
    backend.allocate(10);
    auto step = recorded([](RecordedStep& one) {
      one.all_reduce({0, 5});
      one.wait();
      one.all_reduce({5, 5});
    });
    backend.perform(step.step(), 1, [&](std::size_t collective) { told.push_back(collective); });
  });
  EXPECT_THAT(told, ElementsAre(0, 1));
}

TEST_P(StepTest, WhatGoesIntoWhichStream) {
  on_ranks(1, [](NcclBackend& backend) {
    backend.allocate(10);
    FakeGpu::get().clear_log();
    perform(backend, [](RecordedStep& step) {
      step.compute(1_ms);
      step.compute(2_ms);
      step.all_reduce({0, 4});
      step.compute(0_ms);
      step.wait();
    });
    EXPECT_THAT(FakeGpu::get().log(),
                ElementsAre("communication: all-reduce of 1", "communication: record",  // all ranks are there
                            "compute: record",                                          // the step starts
                            "compute: busy for 3000000 ns", "compute: record", "communication: wait",
                            "communication: record", "communication: all-reduce of 4",
                            "communication: record", "compute: wait", "compute: record"));
  });
}

// The whole way that the rank program goes, on two ranks: gradients are checked, repetitions are alike.
TEST_P(StepTest, AJobRuns) {
  validate::Job job;
  job.backend = "nccl";
  job.slowdowns = {{1, 2.0}};
  auto step = recorded([](RecordedStep& one) {
    one.compute(3_ms);
    one.all_reduce({0, 1000});
    one.compute(1_ms);
    one.reduce_scatter({1000, 3000});
  });
  step.step().verify = true;
  job.steps.push_back(step.step());
  on_ranks(2, [&](NcclBackend& backend) {
    validate::StatusReporter status(backend.rank());
    auto result = validate::run_job(backend, nullptr, job, status);
    ASSERT_EQ(result.steps.size(), 1u);
    EXPECT_TRUE(result.steps[0].settled);
    for (auto total : result.steps[0].totals) EXPECT_NEAR(total.value(), 12e-3, 1e-8);  // 2 * 3 + 2 + 4
    expect_times(result.steps[0].collectives[0], 6, 6, 8);
    expect_times(result.steps[0].collectives[1], 8, 8, 12);
  });
}

}  // namespace
}  // namespace ddpsim::testing
