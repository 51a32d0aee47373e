// Several ranks fail almost at once; the message is about the one that made the others fail.
#include "validate/launch/rank_failure.hpp"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/backend_missing.hpp"
#include "sim/base/program_exit.hpp"

#include "tests/validate/launch/scripted_run.hpp"

namespace ddpsim::validate {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string kLosesConnection = "begin doing:all-reduce_4 say:error:_connection_lost exit:5";

TEST(FirstCause, AKilledRankRatherThanThoseThatLostIt) {
  ScriptedRun run({kLosesConnection, "begin sleep:300 doing:all-reduce_5 raise:9", kLosesConnection});
  EXPECT_EQ(run.failure<RunFailed>(), "rank 1 was killed by signal 9 (Killed) while all-reduce 5");
}

TEST(FirstCause, AnErrorOfItsOwnRatherThanALostConnection) {
  ScriptedRun run({kLosesConnection, "begin sleep:300 say:error:_no_GPU exit:3"});
  EXPECT_EQ(run.failure<BackendMissing>(), "no GPU");
  ScriptedRun aborting({"begin raise:6", "begin sleep:300 say:out_of_paper exit:1"});
  EXPECT_THAT(aborting.failure<RunFailed>(), HasSubstr("rank 1 failed while starting: out of paper"));
}

TEST(FirstCause, ARankThatIsSilentButNotYetForTooLong) {
  ScriptedRun run(
      {"begin sleep:1000 say:error:_timed_out exit:5", "begin doing:all-reduce_5 silent forever"});
  run.options.silence = Seconds(3);
  EXPECT_THAT(run.failure<RunFailed>(), StartsWith("rank 1 has shown no sign of life for "));
  EXPECT_TRUE(run.nothing_is_left());
}

TEST(FirstCause, TheFirstOfEquals) {
  ScriptedRun run({"begin sleep:400 say:error:_b exit:5", "begin say:error:_a exit:5"});
  EXPECT_EQ(run.failure<RunFailed>(), "rank 1 failed while starting: a");
}

TEST(Complaint, FromTheLastErrorMessageOn) {
  EXPECT_EQ(complaint_in("error: old\nnoise\nerror: new\nhint: look\n"), "error: new\nhint: look");
  EXPECT_EQ(complaint_in("noise\njob.json:3:1: error: no number\n  3 | x\n"),
            "job.json:3:1: error: no number\n  3 | x");
  EXPECT_EQ(complaint_in("internal error: a defect"), "internal error: a defect");
}

TEST(Complaint, OrTheLastLines) {
  EXPECT_EQ(complaint_in("1\n2\n3\n4\n5\n6\n7\n\n"), "3\n4\n5\n6\n7");
  EXPECT_EQ(complaint_in("\nonly\n"), "only");
  EXPECT_EQ(complaint_in(" \n"), "");
  EXPECT_EQ(complaint_in(""), "");
}

}  // namespace
}  // namespace ddpsim::validate
