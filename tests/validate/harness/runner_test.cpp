#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/scoped_environment.hpp"
#include "tests/validate/harness/job_run.hpp"

namespace ddpsim::validate::test {
namespace {

using ddpsim::testing::ScopedEnvironment;
using ddpsim::testing::Variables;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Of a run that is to succeed, as rank 0 has it.
RunResult result_of(const Job& job, const Script& script = {}) {
  auto done = run(job, script);
  EXPECT_THAT(done.failures, Each(IsEmpty()));
  return done.results.front();
}

std::vector<double> values_of(const std::vector<Seconds>& times) {
  std::vector<double> values;
  for (auto time : times) values.push_back(time.value());
  return values;
}

// Repetition k of the only all-reduce takes seconds[k], the last one's time from there on.
Script all_reduces_of(std::vector<double> seconds) {
  Script script;
  script.seconds = [seconds](int step, Range) {
    return seconds[std::min(static_cast<std::size_t>(step), seconds.size() - 1)];
  };
  return script;
}

// The all-reduce takes 4 s, from 2 s to 6 s; the wait and 1 s more end at 7 s.
TEST(Runner, AStep) {
  auto result = result_of({"gloo", {}, Seconds(60), {small_step()}});
  EXPECT_EQ(result.backend, "fake");
  EXPECT_EQ(result.world_size, 2);
  EXPECT_THAT(result.environment, ElementsAre(std::pair<std::string, std::string>("of rank", "0")));
  EXPECT_EQ(result.trace, "");
  ASSERT_EQ(result.steps.size(), 1U);
  const auto& step = result.steps[0];
  EXPECT_EQ(step.name, "small");
  EXPECT_THAT(values_of(step.totals), Each(7.0));
  ASSERT_EQ(step.collectives.size(), 1U);
  EXPECT_EQ(step.collectives[0].launch, Seconds(2));
  EXPECT_EQ(step.collectives[0].start, Seconds(2));
  EXPECT_EQ(step.collectives[0].end, Seconds(6));
}

// What is gathered waits for the first op only, and runs from 2 s to 6 s beside the second, which ends at 5
// s; what is scattered waits for that and for its turn, from 6 s to 8 s.
TEST(Runner, CollectivesThatWaitForEarlierOps) {
  RecordedStep recorded;
  recorded.compute(Seconds(2));
  recorded.compute(Seconds(3));
  auto& step = recorded.step();
  step.add(Operation::all_gather, {0, 4}, {0});
  step.add(Operation::reduce_scatter, {4, 2}, {1});
  step.before_last_backward = 1;
  step.verify = true;
  auto result = result_of({"gloo", {}, Seconds(60), {step}});
  const auto& samples = result.steps.at(0);
  EXPECT_THAT(values_of(samples.totals), Each(8.0));
  EXPECT_EQ(samples.backward_start, Seconds(5));
  ASSERT_EQ(samples.collectives.size(), 2U);
  EXPECT_EQ(samples.collectives[0].launch, Seconds(2));
  EXPECT_EQ(samples.collectives[0].end, Seconds(6));
  EXPECT_EQ(samples.collectives[1].launch, Seconds(5));
  EXPECT_EQ(samples.collectives[1].start, Seconds(6));
  EXPECT_EQ(samples.collectives[1].end, Seconds(8));
}

// Rank 1 computes 2 s three times as slowly: the all-reduce runs from 6 s to 10 s. Rank 0 ends at 11 s, rank
// 1 at 10 + 3 = 13 s: that is the step's time, on both of them.
TEST(Runner, StragglersAndTheLargestTimeOverTheRanks) {
  auto done = run({"gloo", {{1, 3.0}}, Seconds(60), {small_step()}});
  EXPECT_THAT(done.failures, Each(IsEmpty()));
  for (const auto& result : done.results) {
    ASSERT_EQ(result.steps.size(), 1U);
    EXPECT_THAT(values_of(result.steps[0].totals), Each(13.0));
    ASSERT_EQ(result.steps[0].collectives.size(), 1U);
    EXPECT_EQ(result.steps[0].collectives[0].launch, Seconds(6));  // rank 0 launched at 2 s
    EXPECT_EQ(result.steps[0].collectives[0].start, Seconds(6));
    EXPECT_EQ(result.steps[0].collectives[0].end, Seconds(10));
  }
}

TEST(Runner, StepsInTheirOrder) {
  auto one = step_of("one", {all_reduce(0, 1)}), two = step_of("two", {all_reduce(0, 2)});
  auto result = result_of({"gloo", {}, Seconds(60), {two, one}});
  ASSERT_EQ(result.steps.size(), 2U);
  EXPECT_EQ(result.steps[0].name, "two");
  EXPECT_THAT(values_of(result.steps[0].totals), Each(2.0));
  EXPECT_EQ(result.steps[1].name, "one");
  EXPECT_THAT(values_of(result.steps[1].totals), Each(1.0));
}

// A machine that drifts: the all-reduces of one repetition take 1 s more than those of the one before.
Script drifting() {
  Script script;
  script.seconds = [](int step, Range) { return 1.0 + step; };
  return script;
}

// In rounds both see the drift; without, the second step has all of it.
TEST(Runner, StepsTakeTurnsInRounds) {
  Sampling sampling{0, 3, 3, 0.005, Seconds(1000), 1};
  auto a = step_of("a", {all_reduce(0, 1)}, sampling), b = step_of("b", {all_reduce(0, 1)}, sampling);
  auto result = result_of({"gloo", {}, Seconds(60), {a, b}}, drifting());
  EXPECT_THAT(values_of(result.steps[0].totals), ElementsAre(1, 3, 5));
  EXPECT_THAT(values_of(result.steps[1].totals), ElementsAre(2, 4, 6));
  a.sampling.turn = b.sampling.turn = 0;
  result = result_of({"gloo", {}, Seconds(60), {a, b}}, drifting());
  EXPECT_THAT(values_of(result.steps[0].totals), ElementsAre(1, 2, 3));
  EXPECT_THAT(values_of(result.steps[1].totals), ElementsAre(4, 5, 6));
}

// "a" needs two, "b" five, two a turn: a a b b b b b. Only the first turn warms up, and collectives are
// medians over all turns: of "b" 5, 6, 7, 8 and 9 s.
TEST(Runner, AStepThatIsDoneLeavesTheRounds) {
  auto a = step_of("a", {all_reduce(0, 1)}, {1, 2, 2, 0.005, Seconds(1000), 2});
  auto b = step_of("b", {all_reduce(0, 1)}, {1, 5, 5, 0.005, Seconds(1000), 2});
  auto done = run({"gloo", {}, Seconds(60), {a, b}}, drifting());
  EXPECT_THAT(done.failures, Each(IsEmpty()));
  const auto& steps = done.results[0].steps;
  EXPECT_THAT(values_of(steps[0].totals), ElementsAre(2, 3));
  EXPECT_THAT(values_of(steps[1].totals), ElementsAre(5, 6, 7, 8, 9));
  EXPECT_EQ(steps[1].collectives[0].end, Seconds(7));
  EXPECT_THAT(done.steps, Each(9));
}

// All the same: six settle it. Eight at the least: eight do.
TEST(Runner, RepeatsUntilItIsSettled) {
  auto step = step_of("s", {all_reduce(0, 4)}, {1, 5, 30, 0.005, Seconds(1000)}, false);
  auto result = result_of({"gloo", {}, Seconds(60), {step}});
  EXPECT_EQ(result.steps[0].totals.size(), 6U);
  EXPECT_TRUE(result.steps[0].settled);
  step.sampling.least = 8;
  EXPECT_EQ(result_of({"gloo", {}, Seconds(60), {step}}).steps[0].totals.size(), 8U);
}

TEST(Runner, GivesUpAfterTheMost) {
  auto step = step_of("s", {all_reduce(0, 1)}, {0, 5, 7, 0.005, Seconds(1000)}, false);
  auto result = result_of({"gloo", {}, Seconds(60), {step}}, all_reduces_of({1, 2, 1, 2, 1, 2, 1, 2}));
  EXPECT_THAT(values_of(result.steps[0].totals), ElementsAre(1, 2, 1, 2, 1, 2, 1));
  EXPECT_FALSE(result.steps[0].settled);
}

// Repetitions of 4 s: the third reaches 12 s. Warm-ups cost nothing.
TEST(Runner, GivesUpWhenTheBudgetIsSpent) {
  auto step = step_of("s", {all_reduce(0, 4)}, {5, 2, 30, 0.005, Seconds(12)}, false);
  auto done = run({"gloo", {}, Seconds(60), {step}});
  EXPECT_EQ(done.results[0].steps[0].totals.size(), 3U);
  EXPECT_FALSE(done.results[0].steps[0].settled);
  EXPECT_THAT(done.steps, Each(5 + 3));
}

TEST(Runner, WarmUpsAreNotMeasured) {
  auto step = step_of("s", {all_reduce(0, 1)}, {2, 5, 30, 0.005, Seconds(1000)}, false);
  auto result = result_of({"gloo", {}, Seconds(60), {step}}, all_reduces_of({100, 50, 1}));
  EXPECT_THAT(values_of(result.steps[0].totals), ElementsAre(1, 1, 1, 1, 1, 1));
  EXPECT_EQ(result.steps[0].collectives[0].end, Seconds(1));
}

// The first all-reduce takes 1, 9 and 3 s, the second 2 s: the second starts at 1, 9 and 3 s.
TEST(Runner, CollectivesAreMedians) {
  auto step = step_of("s", {all_reduce(0, 1), all_reduce(1, 2)}, {0, 3, 3, 0.005, Seconds(1000)}, false);
  Script script;
  script.seconds = [](int repetition, Range range) {
    return range.count == 2 ? 2.0 : std::vector<double>{1, 9, 3}[static_cast<std::size_t>(repetition)];
  };
  auto result = result_of({"gloo", {}, Seconds(60), {step}}, script);
  EXPECT_THAT(values_of(result.steps[0].totals), ElementsAre(3, 11, 5));
  ASSERT_EQ(result.steps[0].collectives.size(), 2U);
  EXPECT_EQ(result.steps[0].collectives[0].end, Seconds(3));
  EXPECT_EQ(result.steps[0].collectives[1].launch, Seconds(0));
  EXPECT_EQ(result.steps[0].collectives[1].start, Seconds(3));
  EXPECT_EQ(result.steps[0].collectives[1].end, Seconds(5));
}

TEST(Runner, SaysWhatItIsDoing) {
  int file = memfd_create("test", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(file, sizeof(RankStatus)), 0);
  auto* status = static_cast<RankStatus*>(
      mmap(nullptr, sizeof(RankStatus), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  ScopedEnvironment environment(Variables{{"DDPSIM_STATUS_FD", std::to_string(file)}});
  std::vector<std::string> seen;
  Script script;
  script.ranks = 1;
  script.values = [&](const Script::Values&) { seen.push_back(activity_of(*status)); };
  auto job = checked_job();
  job.steps[0] =
      step_of("s", {all_reduce(0, 3), kWait, all_reduce(3, 5), kWait}, job.steps[0].sampling, true);
  job.steps[0].sampling.most = 2;
  job.steps[0].sampling.least = 2;
  EXPECT_THAT(run(job, script).failures, Each(IsEmpty()));
  // The second all-reduce is launched when the first one was waited for.
  EXPECT_THAT(seen, ElementsAre("s, checking gradients", "s, checking gradients: all-reduce 0 of 2",
                                "s, warm-up 1", "s, warm-up 1: all-reduce 0 of 2",        //
                                "s, repetition 1", "s, repetition 1: all-reduce 0 of 2",  //
                                "s, repetition 2", "s, repetition 2: all-reduce 0 of 2",  //
                                "s, checking gradients", "s, checking gradients: all-reduce 0 of 2"));
  EXPECT_EQ(activity_of(*status), "done");
  munmap(status, sizeof(RankStatus));
  close(file);
}

// Notes what is asked of it.
class NotedTrainer : public Trainer {
 public:
  explicit NotedTrainer(std::string& notes) : notes_(notes) {}
  void prepare(const Step& step) override { notes_ += "prepare " + step.name + "; "; }
  StepTimes once(const Step&, const WaitingFor& waiting_for) override {
    notes_ += "once; ";
    waiting_for(0);
    return {Seconds(4), {{Seconds(1), Seconds(2), Seconds(3)}}};
  }
  void verify(const Step&, const WaitingFor&) override { notes_ += "verify; "; }
  void require_equal() override { notes_ += "equal; "; }
  std::string trace() override {
    notes_ += "trace; ";
    return "the trace";
  }

 private:
  std::string& notes_;
};

// Steps that train go to the trainer, and only to it.
TEST(Runner, StepsThatTrain) {
  Sampling twice{1, 2, 2, 0.005, Seconds(60)};
  auto trains = step_of("ddp", {all_reduce(0, 1000)}, twice, true, Reduction{});
  Step alone{"alone", {}, {}, twice, false, Reduction{Reduction::Kind::none}};
  auto waits = step_of("waits", {all_reduce(0, 4)}, twice, false);
  Job job{"gloo", {}, Seconds(60), {alone, trains, waits}};
  std::string notes;
  RunResult result;
  Script script;
  script.ranks = 1;
  auto failures = on_all_ranks(script, [&](FakeBackend& backend) {
    NotedTrainer trainer(notes);
    StatusReporter status(0);
    result = run_job(backend, &trainer, job, status);
    EXPECT_EQ(backend.steps(), 3);
  });
  EXPECT_THAT(failures, Each(IsEmpty()));
  EXPECT_EQ(notes,
            "prepare alone; once; once; once; trace; "
            "prepare ddp; verify; once; once; once; verify; equal; ");
  EXPECT_EQ(result.trace, "the trace");
  ASSERT_EQ(result.steps.size(), 3U);
  EXPECT_THAT(values_of(result.steps[1].totals), ElementsAre(4, 4));
  ASSERT_EQ(result.steps[1].collectives.size(), 1U);
  EXPECT_EQ(result.steps[1].collectives[0].end, Seconds(3));
  EXPECT_THAT(values_of(result.steps[2].totals), ElementsAre(4, 4));
}

// Each turn is prepared and warmed up; gradients are checked before the first and after the last repetition.
TEST(Runner, StepsThatTrainInRounds) {
  Sampling thrice{1, 3, 3, 0.005, Seconds(60), 2};
  Job job{"gloo", {}, Seconds(60), {}};
  for (const char* name : {"a", "b"})
    job.steps.push_back(step_of(name, {all_reduce(0, 1)}, thrice, true, Reduction{}));
  std::string notes;
  Script script;
  script.ranks = 1;
  auto failures = on_all_ranks(script, [&](FakeBackend& backend) {
    NotedTrainer trainer(notes);
    StatusReporter status(0);
    run_job(backend, &trainer, job, status);
  });
  EXPECT_THAT(failures, Each(IsEmpty()));
  EXPECT_EQ(notes,
            "prepare a; verify; once; once; once; prepare b; verify; once; once; once; "
            "prepare a; once; once; verify; prepare b; once; once; verify; equal; ");
}

TEST(Runner, AStepThatTrainsNeedsATrainer) {
  Step trains{"ddp", {}, {}, {}, false, Reduction{}};
  EXPECT_THAT(run({"gloo", {}, Seconds(60), {trains}}).failures,
              Each(HasSubstr("a job that trains has a model")));
}

TEST(Job, TheBufferHoldsEveryRangeThatIsReplayed) {
  auto first = step_of("a", {all_reduce(2, 5), all_reduce(0, 2)});
  auto trains = step_of("b", {all_reduce(0, 1000)});
  trains.reduction = Reduction{};
  EXPECT_EQ((Job{"gloo", {}, Seconds(60), {first, trains}}.elements()), 7U);
  EXPECT_EQ((Job{"gloo", {}, Seconds(60), {}}.elements()), 0U);
}

}  // namespace
}  // namespace ddpsim::validate::test
