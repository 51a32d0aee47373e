#include <csignal>
#include <fstream>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/backend_missing.hpp"
#include "sim/base/program_exit.hpp"
#include "sim/base/source.hpp"

#include "tests/support/scoped_environment.hpp"
#include "tests/validate/launch/scripted_run.hpp"

namespace ddpsim::validate {
namespace {

using ddpsim::testing::ScopedEnvironment;
using ddpsim::testing::Variables;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Lt;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

const std::string kWaits = "begin doing:all-reduce_7 forever";

// What launched_rank's "tell" wrote.
std::multiset<std::string> told(const ScriptedRun& run, int rank) {
  std::ifstream file(run.folder.path(std::to_string(rank)));
  std::multiset<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.insert(line);
  return lines;
}

TEST(RunRanks, AllEndWell) {
  ScriptedRun run({"begin sleep:300", "", "begin say:a_warning"});
  EXPECT_NO_THROW(run.run());
  EXPECT_TRUE(run.nothing_is_left());
}

TEST(RunRanks, WatchHearsWhatTheFirstRankDoes) {
  ScriptedRun run({"begin doing:step_1 sleep:400 doing:step_2 sleep:400", "begin doing:another sleep:800"});
  std::vector<std::string> heard;
  run.options.watch = [&](const std::string& activity) {
    if (heard.empty() || heard.back() != activity) heard.push_back(activity);
  };
  run.run();
  std::erase(heard, "");  // before it has begun
  EXPECT_THAT(heard, ::testing::ElementsAre("step 1", "step 2"));
}

TEST(RunRanks, EachRankIsToldWhoItIs) {
  ScopedEnvironment environment(
      Variables{{"RANK", "77"}, {"OMP_NUM_THREADS", "3"}, {"OPENBLAS_NUM_THREADS", {}}});
  ScriptedRun run({"tell", "tell", "tell"});
  run.run();
  auto lines = told(run, 2);
  for (const char* line :
       {"RANK=2", "WORLD_SIZE=3", "LOCAL_RANK=2", "MASTER_ADDR=127.0.0.1", "DDPSIM_INTERFACE=lo",
        "DDPSIM_RANKS_HERE=1", "OMP_NUM_THREADS=3", "OPENBLAS_NUM_THREADS=1", "stdin: -1"})
    EXPECT_THAT(lines, Contains(line).Times(1));
  EXPECT_THAT(lines, Contains("DDPSIM_MEETING_FILE=" + run.folder.path("meeting")));
  EXPECT_THAT(lines, Not(Contains("RANK=77")));
  EXPECT_THAT(told(run, 0), Contains("RANK=0"));
  EXPECT_THAT(told(run, 1), Contains("LOCAL_RANK=1"));
}

TEST(RunRanks, AJoinedRunHasOneRankHere) {
  ScopedEnvironment environment(Variables{{"DDPSIM_INTERFACE", {}}});
  ScriptedRun run({"exit:1", "exit:1", "begin tell"});
  run.options.placement = {4, {2}, "10.1.2.3", 29500, true, 1, 2};
  run.run();
  EXPECT_THAT(told(run, 2), AllOf(Contains("RANK=2"), Contains("WORLD_SIZE=4"), Contains("LOCAL_RANK=1"),
                                  Contains("LOCAL_WORLD_SIZE=2"), Contains("MASTER_ADDR=10.1.2.3"),
                                  Contains("MASTER_PORT=29500"), Contains("DDPSIM_MEETING_FILE="),
                                  Not(Contains(StartsWith("DDPSIM_INTERFACE")))));
}

TEST(RunRanks, OneProcess) {
  ScriptedRun run({"begin tell", "exit:1", "exit:1"});
  run.options.one_process = true;
  run.run();
  EXPECT_THAT(told(run, 0), AllOf(Contains("RANK=0"), Contains("DDPSIM_RANKS_HERE=3")));

  ScriptedRun failing({"begin doing:all-reduce_3 raise:9", "", ""});
  failing.options.one_process = true;
  EXPECT_EQ(failing.failure<RunFailed>(),
            "the process of ranks 0 to 2 was killed by signal 9 (Killed) while all-reduce 3");
}

TEST(RunRanks, AnErrorOfARankIsItsLastWords) {
  ScriptedRun run(
      {kWaits, kWaits, "begin doing:all-reduce_12 say:a_warning say:error:_connection_lost exit:5"});
  EXPECT_EQ(run.failure<RunFailed>(), "rank 2 failed while all-reduce 12: connection lost");
  EXPECT_TRUE(run.nothing_is_left());
}

TEST(RunRanks, OtherProgramsFailInOtherWords) {
  ScriptedRun run({kWaits, "begin doing:the_first_step say:what_a say:mess exit:1"});
  EXPECT_EQ(run.failure<RunFailed>(), "rank 1 failed while the first step: what a\nmess");
  ScriptedRun mute({kWaits, "exit:9"});
  EXPECT_EQ(mute.failure<RunFailed>(), "rank 1 ended with exit code 9, without a word, while starting");
}

TEST(RunRanks, BadInputAndMissingBackendsStayWhatTheyAre) {
  ScriptedRun input({kWaits, "say:error:_no_such_device say:hint:_look exit:2"});
  EXPECT_EQ(input.failure<InputError>(), "error: no such device\nhint: look");
  ScriptedRun missing({kWaits, "say:error:_no_NCCL say:hint:_install_it exit:3"});
  EXPECT_EQ(missing.failure<BackendMissing>(), "no NCCL\nhint: install it");
  EXPECT_TRUE(missing.nothing_is_left());
}

TEST(RunRanks, AKilledRankIsNamed) {
  ScriptedRun killed({kWaits, kWaits, kWaits, "begin doing:all-reduce_1 raise:9"});
  EXPECT_EQ(killed.failure<RunFailed>(), "rank 3 was killed by signal 9 (Killed) while all-reduce 1");
  EXPECT_TRUE(killed.nothing_is_left());
  ScriptedRun aborted({"begin doing:all-reduce_1 say:terminate_called raise:6", kWaits});
  EXPECT_EQ(aborted.failure<RunFailed>(),
            "rank 0 was killed by signal 6 (Aborted) while all-reduce 1: terminate called");
}

TEST(RunRanks, AStoppedRankIsNamedAndEnded) {
  ScriptedRun run({kWaits, "begin doing:all-reduce_1 raise:19 forever"});
  EXPECT_EQ(run.failure<RunFailed>(), "rank 1 was stopped (SIGSTOP) while all-reduce 1");
  EXPECT_TRUE(run.nothing_is_left());
}

TEST(RunRanks, ASilentRankIsNamedAndEnded) {
  ScriptedRun run({kWaits, "begin doing:all-reduce_1 silent forever", kWaits});
  run.options.silence = Seconds(2);
  EXPECT_THAT(run.failure<RunFailed>(),
              MatchesRegex("rank 1 has shown no sign of life for 2[.0-9]* s while all-reduce 1"));
  EXPECT_TRUE(run.nothing_is_left());
}

TEST(RunRanks, ARankThatDoesNotBeginIsNamed) {
  ScriptedRun run({kWaits, "say:looking_for_the_others forever"});
  run.options.rendezvous = Seconds(2);
  EXPECT_THAT(run.failure<RunFailed>(),
              MatchesRegex("rank 1 has not begun within 2[.0-9]* s: looking for the others"));
  EXPECT_TRUE(run.nothing_is_left());
}

TEST(RunRanks, ARankThatWaitsForLongIsNotSilent) {
  ScriptedRun run({"begin sleep:2500", "begin sleep:2500"});
  run.options.silence = Seconds(1.5);
  EXPECT_NO_THROW(run.run());
}

// More than a pipe holds, and only the end of it is kept.
TEST(RunRanks, AChattyRankIsNotHeldUp) {
  ScriptedRun run({"print:20000000", "print:20000000 say:the_end exit:1"});
  auto message = run.failure<RunFailed>();
  EXPECT_THAT(message, HasSubstr("xxx\nthe end"));
  EXPECT_THAT(message, SizeIs(Lt(5000U)));
}

TEST(RunRanks, HelpersOfARankGoWithIt) {
  ScriptedRun well({"helper"});
  EXPECT_NO_THROW(well.run());
  EXPECT_TRUE(well.nothing_is_left());
  ScriptedRun failing({"helper begin forever", "helper begin sleep:200 exit:1"});
  EXPECT_THROW(failing.run(), RunFailed);
  EXPECT_TRUE(failing.nothing_is_left());
}

TEST(RunRanks, AProgramThatIsNotThere) {
  ScriptedRun run({""});
  run.options.program = run.folder.path("nowhere");
  EXPECT_THAT(run.failure<BackendMissing>(),
              AllOf(HasSubstr("nowhere' cannot be run: No such file or directory"), HasSubstr("hint: ")));
  run.options.program = run.folder.path("");
  EXPECT_THAT(run.failure<RunFailed>(), HasSubstr("rank 0 failed while starting: "));
}

class ClosedNetwork : public Loopback {
 public:
  [[nodiscard]] bool enter(int rank) const override {
    errno = EPERM;
    return rank != 1;
  }
};

TEST(RunRanks, ANetworkThatCannotBeEntered) {
  ScriptedRun run({kWaits, ""});
  try {
    run_ranks(run.options, ClosedNetwork());
    ADD_FAILURE() << "no exception";
  } catch (const RunFailed& error) {
    EXPECT_STREQ(error.what(),
                 "rank 1 failed while starting: the network of this rank cannot be entered: Operation not "
                 "permitted");
  }
  EXPECT_TRUE(run.nothing_is_left());
}

TEST(RunRanks, IgnoredChildrenAreWaitedForAllTheSame) {
  std::signal(SIGCHLD, SIG_IGN);
  ScriptedRun run({"", "begin exit:1"});
  EXPECT_THROW(run.run(), RunFailed);
  EXPECT_TRUE(run.nothing_is_left());
}

// How a driver that runs two ranks which wait forever ends by a signal, as waitpid says. No rank survives it.
int end_of_driver(int signal) {
  ScriptedRun run({kWaits, kWaits});
  pid_t driver = fork();
  if (driver == 0) {
    start_program();
    run.run();
    _exit(0);
  }
  EXPECT_TRUE(run.come_to_be(2));
  kill(driver, signal);
  int status = 0;
  waitpid(driver, &status, 0);
  EXPECT_TRUE(run.come_to_be(0));
  return status;
}

TEST(RunRanks, RanksDieWithTheDriver) {
  int killed = end_of_driver(SIGKILL);
  EXPECT_TRUE(WIFSIGNALED(killed));
  int interrupted = end_of_driver(SIGINT);
  EXPECT_TRUE(WIFEXITED(interrupted));
  EXPECT_EQ(WEXITSTATUS(interrupted), kInterrupted);
}

}  // namespace
}  // namespace ddpsim::validate
