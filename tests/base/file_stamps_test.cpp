// Who keeps what was in files learns that they have changed.
#include "sim/base/file_stamps.hpp"

#include <filesystem>

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.hpp"

namespace ddpsim {
namespace {

namespace fs = std::filesystem;

void make_old(const std::string& path, int hours = 1) {
  fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(hours));
}

FileStamps stamps_of(const std::string& path) {
  FileStamps stamps;
  FileStamps::Watch watch(stamps);
  stamp_file(path);
  return stamps;
}

TEST(FileStamps, AFileThatStaysIsUnchanged) {
  testing::TemporaryFolder folder;
  auto path = folder.write("a", "1");
  make_old(path);
  EXPECT_TRUE(stamps_of(path).unchanged());
}

TEST(FileStamps, AnotherSizeTimeOrFileIsAChange) {
  testing::TemporaryFolder folder;
  auto path = folder.write("a", "1");
  make_old(path);
  auto before = stamps_of(path);
  folder.write("a", "12");
  EXPECT_FALSE(before.unchanged());
  make_old(path);
  before = stamps_of(path);
  make_old(path, 2);
  EXPECT_FALSE(before.unchanged());
  before = stamps_of(path);
  fs::remove(path);
  EXPECT_FALSE(before.unchanged());
}

// Two writings of one size may have the same time.
TEST(FileStamps, AFileJustWrittenMayChangeUnseen) {
  testing::TemporaryFolder folder;
  EXPECT_FALSE(stamps_of(folder.write("a", "1")).unchanged());
}

TEST(FileStamps, AFileThatAppearsIsAChange) {
  testing::TemporaryFolder folder;
  auto path = folder.write("a", "1");
  fs::remove(path);
  auto before = stamps_of(path);
  EXPECT_TRUE(before.unchanged());
  folder.write("a", "1");
  EXPECT_FALSE(before.unchanged());
}

// A signal handler in Python may simulate while somebody simulates.
TEST(FileStamps, TheLastWatchIsTold) {
  testing::TemporaryFolder folder;
  auto first = folder.write("a", "1"), second = folder.write("b", "1");
  make_old(first);
  make_old(second);
  FileStamps outer, inner;
  {
    FileStamps::Watch watch(outer);
    {
      FileStamps::Watch other(inner);
      stamp_file(second);
    }
    stamp_file(first);
  }
  folder.write("b", "12");
  EXPECT_TRUE(outer.unchanged());
  EXPECT_FALSE(inner.unchanged());
}

TEST(FileStamps, NobodyWatches) {
  FileStamps stamps;
  { FileStamps::Watch watch(stamps); }
  stamp_file("/nowhere");
  EXPECT_TRUE(stamps.unchanged());
}

}  // namespace
}  // namespace ddpsim
