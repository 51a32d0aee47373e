#include "validate/launch/launcher.hpp"
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "sim/base/program_exit.hpp"

#include "tests/support/errors.hpp"
#include "tests/support/scoped_environment.hpp"

namespace ddpsim::validate {
namespace {

using ddpsim::testing::input_error;
using ddpsim::testing::ScopedEnvironment;
using ddpsim::testing::Variables;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// `set` and no other variable of any launcher.
Variables only(const Variables& set) {
  Variables all = set;
  for (const char* name : {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR",
                           "MASTER_PORT", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                           "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", "SLURM_PROCID",
                           "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_STEP_ID", "SLURM_STEP_NUM_TASKS"})
    all.try_emplace(name, std::nullopt);
  return all;
}

Variables with(Variables variables, const Variables& changed) {
  for (const auto& [name, value] : changed) variables[name] = value;
  return variables;
}

std::optional<Placement> placement_with(const Variables& set) {
  ScopedEnvironment environment(only(set));
  return placement_from_environment();
}

std::string error_with(const Variables& set) {
  return input_error([&] { placement_with(set); });
}

const Variables kMeeting{{"MASTER_ADDR", "node1"}, {"MASTER_PORT", "29500"}};
const Variables kTorchrun = with(kMeeting, {{"RANK", "5"}, {"WORLD_SIZE", "8"}, {"LOCAL_RANK", "1"}});
const Variables kOpenMpi =
    with(kMeeting,
         {{"OMPI_COMM_WORLD_RANK", "5"}, {"OMPI_COMM_WORLD_SIZE", "8"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}});
const Variables kSlurm = with(kMeeting, {{"SLURM_PROCID", "5"},
                                         {"SLURM_NTASKS", "8"},
                                         {"SLURM_STEP_NUM_TASKS", "8"},
                                         {"SLURM_LOCALID", "1"},
                                         {"SLURM_STEP_ID", "0"}});

void expect_rank_5_of_8(const std::optional<Placement>& placement) {
  ASSERT_TRUE(placement);
  EXPECT_TRUE(placement->joined);
  EXPECT_THAT(placement->ranks, ElementsAre(5));
  EXPECT_EQ(placement->world_size, 8);
  EXPECT_EQ(placement->local_rank, 1);
  EXPECT_EQ(placement->master_address, "node1");
  EXPECT_EQ(placement->master_port, 29500);
}

TEST(PlacementFromEnvironment, NobodyStartedUs) {
  EXPECT_FALSE(placement_with({}));
  EXPECT_FALSE(placement_with(kMeeting));
}

TEST(PlacementFromEnvironment, EachLauncher) {
  expect_rank_5_of_8(placement_with(kTorchrun));
  expect_rank_5_of_8(placement_with(kOpenMpi));
  expect_rank_5_of_8(placement_with(kSlurm));
  expect_rank_5_of_8(placement_with(with(kSlurm, {{"SLURM_STEP_NUM_TASKS", {}}})));
  // An allocation of 16 tasks, a step of 8.
  expect_rank_5_of_8(placement_with(with(kSlurm, {{"SLURM_NTASKS", "16"}})));
}

TEST(PlacementFromEnvironment, HowManyRanksAreHere) {
  auto here = [](const Variables& set) { return placement_with(set).value().local_world_size; };
  EXPECT_EQ(here(with(kTorchrun, {{"LOCAL_WORLD_SIZE", "4"}})), 4);
  EXPECT_EQ(here(with(kOpenMpi, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}})), 2);
  EXPECT_EQ(here(kTorchrun), std::nullopt);
  EXPECT_EQ(here(kSlurm), std::nullopt);
  EXPECT_THAT(error_with(with(kTorchrun, {{"LOCAL_WORLD_SIZE", "1"}})),
              HasSubstr("LOCAL_WORLD_SIZE is '1', not a whole number from 2 to 8"));
}

TEST(PlacementFromEnvironment, TheInnermostLauncherCounts) {
  auto other_slurm = with(kSlurm, {{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "2"}});
  expect_rank_5_of_8(placement_with(with(other_slurm, kOpenMpi)));
  expect_rank_5_of_8(placement_with(with(other_slurm, kTorchrun)));
  expect_rank_5_of_8(placement_with(with(with(kOpenMpi, {{"OMPI_COMM_WORLD_RANK", "3"}}), kTorchrun)));
}

TEST(PlacementFromEnvironment, ARunOfOneRankIsARun) {
  auto placement = placement_with(with(kTorchrun, {{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"LOCAL_RANK", "0"}}));
  ASSERT_TRUE(placement);
  EXPECT_TRUE(placement->joined);
  EXPECT_EQ(placement->world_size, 1);
}

TEST(PlacementFromEnvironment, ShellsOfSlurmAreNoTasks) {
  EXPECT_FALSE(placement_with(with(kSlurm, {{"SLURM_STEP_ID", {}}})));            // sbatch, salloc
  EXPECT_FALSE(placement_with(with(kSlurm, {{"SLURM_STEP_ID", "4294967290"}})));  // salloc, interactive step
  EXPECT_FALSE(placement_with(with(kSlurm, {{"SLURM_STEP_ID", "4294967291"}})));  // batch script
  // srun --ntasks 1 --pty bash in an allocation of 8 tasks.
  EXPECT_FALSE(placement_with(with(kSlurm, {{"SLURM_STEP_NUM_TASKS", "1"}})));
}

TEST(PlacementFromEnvironment, SomeVariablesWithoutTheOthers) {
  for (const char* name : {"RANK", "WORLD_SIZE", "LOCAL_RANK"})
    EXPECT_EQ(error_with(with(kTorchrun, {{name, {}}})),
              "error: the environment variable " + std::string(name) +
                  " is not set\nhint: torchrun sets RANK, WORLD_SIZE, LOCAL_RANK; unset them to run all "
                  "ranks on this machine");
  EXPECT_THAT(error_with(with(kOpenMpi, {{"OMPI_COMM_WORLD_SIZE", {}}})),
              AllOf(HasSubstr("OMPI_COMM_WORLD_SIZE is not set"), HasSubstr("hint: Open MPI sets")));
  EXPECT_THAT(error_with(with(kSlurm, {{"SLURM_PROCID", {}}})), HasSubstr("SLURM_PROCID is not set"));
}

TEST(PlacementFromEnvironment, WhereRanksMeetIsTheUsersToSay) {
  for (const auto& launcher : {kTorchrun, kOpenMpi, kSlurm})
    for (const char* name : {"MASTER_ADDR", "MASTER_PORT"})
      EXPECT_EQ(error_with(with(launcher, {{name, ""}})),
                "error: the environment variable " + std::string(name) +
                    " is not set\nhint: export MASTER_ADDR, the address of rank 0's machine, and "
                    "MASTER_PORT, a free port there, to all ranks");
}

TEST(PlacementFromEnvironment, NumbersOutOfRange) {
  EXPECT_THAT(error_with(with(kTorchrun, {{"RANK", "8"}})),
              HasSubstr("RANK is '8', not a whole number from 0 to 7"));
  EXPECT_THAT(error_with(with(kTorchrun, {{"RANK", "-1"}})), HasSubstr("RANK is '-1'"));
  EXPECT_THAT(error_with(with(kTorchrun, {{"RANK", "1x"}})), HasSubstr("RANK is '1x'"));
  EXPECT_THAT(error_with(with(kTorchrun, {{"LOCAL_RANK", "8"}})), HasSubstr("LOCAL_RANK is '8'"));
  EXPECT_THAT(error_with(with(kTorchrun, {{"WORLD_SIZE", "0"}})), HasSubstr("WORLD_SIZE is '0'"));
  EXPECT_THAT(error_with(with(kTorchrun, {{"MASTER_PORT", "65536"}})),
              HasSubstr("MASTER_PORT is '65536', not a whole number from 1 to 65535"));
  EXPECT_THAT(error_with(with(kSlurm, {{"SLURM_STEP_NUM_TASKS", "many"}})),
              HasSubstr("SLURM_STEP_NUM_TASKS is 'many'"));
}

TEST(LocalPlacement, AllRanksHereToMeetByAFile) {
  auto placement = local_placement(3, Loopback(), "folder/meeting");
  EXPECT_FALSE(placement.joined);
  EXPECT_THAT(placement.ranks, ElementsAre(0, 1, 2));
  EXPECT_EQ(placement.world_size, 3);
  EXPECT_EQ(placement.master_address, "127.0.0.1");
  EXPECT_EQ(placement.meeting_file, "folder/meeting");
}

}  // namespace
}  // namespace ddpsim::validate
