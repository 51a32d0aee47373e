#include "validate/harness/rank_program.hpp"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/errors.hpp"
#include "tests/support/scoped_environment.hpp"

namespace ddpsim::validate {
namespace {

using ddpsim::testing::input_error;
using ddpsim::testing::ScopedEnvironment;
using ddpsim::testing::Variables;
using ::testing::HasSubstr;

const Variables kPlace{{"RANK", "2"},
                       {"WORLD_SIZE", "4"},
                       {"LOCAL_RANK", "1"},
                       {"LOCAL_WORLD_SIZE", {}},
                       {"MASTER_ADDR", "10.77.0.1"},
                       {"MASTER_PORT", "29500"},
                       {"DDPSIM_MEETING_FILE", {}},
                       {"DDPSIM_RANKS_HERE", {}},
                       {"DDPSIM_INTERFACE", {}}};

RankPlace place_with(const Variables& changed) {
  ScopedEnvironment place(kPlace), change(changed);
  return rank_place_from_environment();
}

std::string error_with(const Variables& changed) {
  return input_error([&] { place_with(changed); });
}

TEST(RankPlace, WhatTorchrunSets) {
  auto place = place_with({});
  EXPECT_EQ(place.rank, 2);
  EXPECT_EQ(place.world_size, 4);
  EXPECT_EQ(place.local_rank, 1);
  EXPECT_EQ(place.master_address, "10.77.0.1");
  EXPECT_EQ(place.master_port, 29500);
  EXPECT_EQ(place.ranks_here, 1);
  EXPECT_EQ(place.interface, "");
}

TEST(RankPlace, HowManyRanksAreHere) {
  EXPECT_EQ(place_with({}).local_world_size, std::nullopt);
  EXPECT_EQ(place_with({{"LOCAL_WORLD_SIZE", "2"}}).local_world_size, 2);
  EXPECT_THAT(error_with({{"LOCAL_WORLD_SIZE", "5"}}), HasSubstr("LOCAL_WORLD_SIZE is '5'"));
}

TEST(RankPlace, WhatTheLauncherAdds) {
  auto place = place_with({{"DDPSIM_RANKS_HERE", "2"}, {"DDPSIM_INTERFACE", "eth0"}});
  EXPECT_EQ(place.ranks_here, 2);
  EXPECT_EQ(place.interface, "eth0");
}

TEST(RankPlace, AFileInPlaceOfAPort) {
  EXPECT_EQ(place_with({}).meeting_file, "");
  auto place = place_with({{"DDPSIM_MEETING_FILE", "/tmp/x/meeting"}, {"MASTER_PORT", "0"}});
  EXPECT_EQ(place.meeting_file, "/tmp/x/meeting");
  EXPECT_EQ(place_with({{"DDPSIM_MEETING_FILE", ""}}).master_port,
            29500);  // so the launcher tells one of many
}

TEST(RankPlace, AVariableThatIsMissing) {
  for (const char* name : {"RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"})
    EXPECT_THAT(error_with({{name, {}}}),
                ::testing::AllOf(HasSubstr(std::string("variable ") + name + " is not set"),
                                 HasSubstr("hint: ddpsim starts this program")));
}

TEST(RankPlace, AVariableThatIsWrong) {
  EXPECT_THAT(error_with({{"RANK", "4"}}), HasSubstr("RANK is '4', not a whole number from 0 to 3"));
  EXPECT_THAT(error_with({{"RANK", "two"}}), HasSubstr("RANK is 'two'"));
  EXPECT_THAT(error_with({{"WORLD_SIZE", "99999999999999999999"}}), HasSubstr("WORLD_SIZE is '9999"));
  EXPECT_THAT(error_with({{"LOCAL_RANK", "-1"}}), HasSubstr("LOCAL_RANK is '-1'"));
  EXPECT_THAT(error_with({{"MASTER_PORT", "0"}}), HasSubstr("MASTER_PORT is '0'"));
  // Ranks 2, 3 and 4 of four.
  EXPECT_THAT(error_with({{"DDPSIM_RANKS_HERE", "3"}}),
              HasSubstr("DDPSIM_RANKS_HERE is '3', not a whole number from 1 to 2"));
}

}  // namespace
}  // namespace ddpsim::validate
