// What `ddpsim help KEY` prints is the key's row.
#include "sim/report/key_help.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/job/rows/table.hpp"

namespace ddpsim {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(KeyHelp, HasWhatTheRowSays) {
  auto text = key_help(job_table(), "ddp.bucket_cap");
  EXPECT_THAT(text, StartsWith("ddp.bucket_cap: "));
  EXPECT_THAT(text, HasSubstr("\n  value         like 25MiB\n"));
  EXPECT_THAT(text, HasSubstr("\n  also called   "));
  EXPECT_THAT(text, HasSubstr("bucket_cap_mb"));
  EXPECT_THAT(text, HasSubstr("--set 'sweep.ddp.bucket_cap=[VALUE, VALUE]'\n"));
}

TEST(KeyHelp, SaysWhatIsRequiredAndWhatHasWords) {
  EXPECT_THAT(key_help(job_table(), "cluster.world_size"),
              HasSubstr("\n  default       the recording's; required without `workload.recording`\n"));
  EXPECT_THAT(key_help(job_table(), "failures.mtbf"), HasSubstr("\n  default       none: it is required\n"));
  EXPECT_THAT(key_help(job_table(), "expert.dispatcher"),
              HasSubstr("all_to_all, all_gather, deepep, deepep_low_latency, rack\n"));
  EXPECT_THAT(key_help(job_table(), "expert.dispatcher"), HasSubstr("\n  default       all_to_all\n"));
}

TEST(KeyHelp, OfASectionHasItsKeys) {
  auto text = key_help(job_table(), "fsdp");
  EXPECT_THAT(text, HasSubstr("\n  .reduce_dtype "));
  EXPECT_THAT(text, HasSubstr("\n  .shard_group "));
}

TEST(KeyHelp, EveryKeyHasSome) {
  auto paths = key_paths();
  EXPECT_GT(paths.size(), 150U);
  for (const auto& path : paths) {
    auto text = key_help(job_table(), path);
    EXPECT_THAT(text, StartsWith(path + ": ")) << path;
    EXPECT_THAT(text, HasSubstr("\n  value ")) << path;
  }
}

TEST(KeyHelp, OfWhatIsNoKeyThereIsNone) {
  EXPECT_EQ(key_help(job_table(), "ddp.bucket_caq"), "");
  EXPECT_EQ(key_help(job_table(), "ddp.bucket_cap.more"), "");
  EXPECT_EQ(key_help(job_table(), ""), "");
}

}  // namespace
}  // namespace ddpsim
