#include "validate/harness/job_json.hpp"
#include "validate/harness/rank_program.hpp"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/scoped_environment.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/validate/harness/fake_backend.hpp"

namespace ddpsim::validate::test {
namespace {

using ddpsim::testing::ScopedEnvironment;
using ddpsim::testing::TemporaryFolder;
using ddpsim::testing::Variables;
using ::testing::ElementsAre;
using ::testing::ExitedWithCode;
using ::testing::HasSubstr;
using ::testing::StartsWith;

int call(const MakeRank& make_rank, std::vector<std::string> arguments) {
  std::vector<char*> argv;
  for (auto& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  return rank_main(static_cast<int>(arguments.size()), argv.data(), make_rank);
}

RankParts no_rank(const RankPlace&, const Job&) {
  ADD_FAILURE() << "a rank was made";
  return {};
}

// The exit code and what stands on standard error.
std::pair<int, std::string> failure_of_call(std::vector<std::string> arguments) {
  ::testing::internal::CaptureStderr();
  int code = call(no_rank, std::move(arguments));
  return {code, ::testing::internal::GetCapturedStderr()};
}

// Two ranks, both in this process.
class RankMainTest : public ::testing::Test {
 protected:
  [[nodiscard]] MakeRank fake_ranks() {
    return [this](const RankPlace& place, const Job& job) {
      EXPECT_EQ(place.local_rank, place.rank);
      EXPECT_EQ(job.backend, "gloo");
      return RankParts{std::make_unique<FakeBackend>(script, rendezvous_, place.rank)};
    };
  }
  [[nodiscard]] std::string job() const {
    Step step{"step", {}, {}, {}, true};
    step.add(Operation::all_reduce, {0, 4});
    return folder.write("job.json", write_job({"gloo", {}, Seconds(60), {step}}));
  }

  TemporaryFolder folder;
  Script script;

 private:
  ScopedEnvironment environment_{Variables{{"RANK", "0"},
                                           {"WORLD_SIZE", "2"},
                                           {"LOCAL_RANK", "0"},
                                           {"MASTER_ADDR", "127.0.0.1"},
                                           {"MASTER_PORT", "29500"},
                                           {"DDPSIM_RANKS_HERE", "2"},
                                           {"DDPSIM_INTERFACE", {}},
                                           {"DDPSIM_STATUS_FD", {}}}};
  Rendezvous rendezvous_{2};
};

TEST_F(RankMainTest, RankZeroWritesTheResult) {
  EXPECT_EQ(call(fake_ranks(), {"program", job(), folder.path("result.json")}), 0);
  auto result = read_run_result(folder.path("result.json"));
  EXPECT_EQ(result.backend, "fake");
  EXPECT_EQ(result.world_size, 2);
  EXPECT_THAT(result.environment, ElementsAre(std::pair<std::string, std::string>("of rank", "0")));
  ASSERT_EQ(result.steps.size(), 1U);
  EXPECT_EQ(result.steps[0].totals.size(), 6U);
}

TEST_F(RankMainTest, OneRankOfTheProcess) {
  ScopedEnvironment alone(Variables{{"WORLD_SIZE", "1"}, {"DDPSIM_RANKS_HERE", {}}});
  script.ranks = 1;
  Rendezvous rendezvous(1);
  auto make_rank = [&](const RankPlace& place, const Job&) {
    return RankParts{std::make_unique<FakeBackend>(script, rendezvous, place.rank)};
  };
  EXPECT_EQ(call(make_rank, {"program", job(), folder.path("result.json")}), 0);
  EXPECT_EQ(read_run_result(folder.path("result.json")).world_size, 1);
}

// The other rank waits for the one that failed.
TEST_F(RankMainTest, OneRankThatFailsEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  script.values = [](const Script::Values& all) {
    if (all.rank == 1) all.values[3] += 1;
  };
  EXPECT_EXIT(call(fake_ranks(), {"program", job(), folder.path("result.json")}), ExitedWithCode(5),
              "error: rank 1: element 3 of all-reduce 0 is ");
}

TEST(RankMain, WrongUsage) {
  auto [code, message] = failure_of_call({"program", "job.json"});
  EXPECT_EQ(code, 2);
  EXPECT_EQ(message,
            "error: usage: program JOB RESULT\n"
            "hint: 'ddpsim validate' starts this program\n");
  EXPECT_EQ(failure_of_call({"program"}).first, 2);
  EXPECT_EQ(failure_of_call({"program", "job.json", "result.json", "more"}).first, 2);
}

TEST(RankMain, NoJob) {
  TemporaryFolder folder;
  auto [code, message] = failure_of_call({"program", folder.path("none.json"), folder.path("result.json")});
  EXPECT_EQ(code, 2);
  EXPECT_THAT(folder.without_folder(message), StartsWith("none.json: error: no such file"));
}

TEST_F(RankMainTest, NoPlace) {
  ScopedEnvironment nowhere(Variables{{"RANK", {}}});
  auto [code, message] = failure_of_call({"program", job(), folder.path("result.json")});
  EXPECT_EQ(code, 2);
  EXPECT_THAT(message, HasSubstr("RANK is not set"));
}

}  // namespace
}  // namespace ddpsim::validate::test
