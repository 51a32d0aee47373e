// What a run does when ranks compute other sums than they must, or were given other jobs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/validate/harness/job_run.hpp"

namespace ddpsim::validate::test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// One warm-up, six repetitions and a check before and after them.
TEST(Runner, ChecksGradientsBeforeAndAfter) {
  auto done = run(checked_job());
  EXPECT_THAT(done.failures, Each(IsEmpty()));
  EXPECT_THAT(done.steps, Each(9));
  EXPECT_EQ(done.results[0].steps[0].totals.size(), 6U);
}

TEST(Runner, AFaultFromTheStart) {
  Script script;
  script.values = [](const Script::Values& all) {
    if (all.rank == 1 && all.collective == 1) all.values[4] += 1;
  };
  EXPECT_THAT(
      run(checked_job(), script).failures,
      ElementsAre("rank 0: another rank has left", StartsWith("rank 1: element 4 of all-reduce 1 is ")));
  auto unchecked = checked_job();
  unchecked.steps[0].verify = false;
  EXPECT_THAT(run(unchecked, script).failures, Each(IsEmpty()));
}

TEST(Runner, AFaultThatBeginsLater) {
  Script script;
  script.values = [](const Script::Values& all) {
    if (all.rank == 0 && all.step >= 4) all.values[0] = 100;
  };
  EXPECT_THAT(run(checked_job(), script).failures,
              ElementsAre(StartsWith("rank 0: element 0 of all-reduce 0 is 100, "), HasSubstr("rank 1: ")));
}

TEST(Runner, RanksThatEndWithOtherParameters) {
  Script script;
  script.values = [](const Script::Values& all) {
    if (all.rank == 1)
      for (float& value : all.values) value += 5e-7F;
  };
  EXPECT_THAT(run(checked_job(), script).failures,
              ElementsAre("rank 0: the ranks' parameters differ", "rank 1: the ranks' parameters differ"));
}

TEST(Runner, RanksWithOtherJobs) {
  auto failures = on_all_ranks({}, [&](FakeBackend& backend) {
    StatusReporter status(backend.rank());
    Job job{"gloo", {}, Seconds(60), {small_step()}};
    if (backend.rank() == 1) job.steps[0].program.ops.pop_back();
    run_job(backend, nullptr, job, status);
  });
  EXPECT_THAT(failures, ElementsAre("rank 0: the ranks' scenarios or options differ",
                                    "rank 1: the ranks' scenarios or options differ"));
}

}  // namespace
}  // namespace ddpsim::validate::test
