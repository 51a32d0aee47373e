#include "sim/base/output_file.hpp"

#include <csignal>
#include <sstream>

#include <fcntl.h>
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/errors.hpp"
#include "tests/support/temporary_folder.hpp"

namespace ddpsim {
namespace {

using testing::input_error;
using testing::TemporaryFolder;

std::string contents(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

std::size_t files_in(const TemporaryFolder& folder) {
  auto entries = std::filesystem::directory_iterator(folder.path(""));
  return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

TEST(WholeFile, NewAndReplaced) {
  TemporaryFolder folder;
  auto path = folder.path("out.json");
  write_whole_file(path, "first, and longer");
  EXPECT_EQ(contents(path), "first, and longer");
  write_whole_file(path, std::string("sec\0nd", 6));
  EXPECT_EQ(contents(path), std::string("sec\0nd", 6));
  write_whole_file(path, "");
  EXPECT_EQ(contents(path), "");
  EXPECT_EQ(files_in(folder), 1U);  // no temporary file stays
}

// The new file is another one under the old name: whoever has the old one open still reads it whole.
TEST(WholeFile, IsRenamedOverTheOldOne) {
  TemporaryFolder folder;
  auto path = folder.write("out.json", "old");
  std::ifstream reader(path);
  write_whole_file(path, "new");
  std::string seen;
  reader >> seen;
  EXPECT_EQ(seen, "old");
  EXPECT_EQ(contents(path), "new");
}

// The limit on a file's size stands for a full disk: 64 KiB fit, the rest does not.
void write_more_than_fits(const TemporaryFolder& folder, const std::string& path) {
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{65536, 65536};
  if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(1);
  auto message = input_error([&] { write_whole_file(path, std::string(100'000, 'x')); });
  std::fputs(folder.without_folder(message).c_str(), stderr);
  _exit(0);
}

TEST(WholeFile, AFailedWriteLeavesTheOldFile) {
  TemporaryFolder folder;
  auto path = folder.write("out.json", "old");
  EXPECT_EXIT(write_more_than_fits(folder, path), ::testing::ExitedWithCode(0),
              "^error: cannot write 'out.json': File too large\n"
              "hint: check the disk and the permissions$");
  EXPECT_EQ(contents(path), "old");
  EXPECT_EQ(files_in(folder), 1U);
}

TEST(WholeFile, AFailedWriteLeavesNoNewFile) {
  TemporaryFolder folder;
  EXPECT_EXIT(write_more_than_fits(folder, folder.path("out.json")), ::testing::ExitedWithCode(0),
              "cannot write 'out.json'");
  EXPECT_EQ(files_in(folder), 0U);
}

// By a link, so that a failure replaces no device of this machine.
TEST(WholeFile, ALinkStaysALink) {
  TemporaryFolder folder;
  auto file = folder.path("file"), link = folder.path("link");
  write_whole_file(file, "old");
  std::filesystem::create_symlink(file, link);
  write_whole_file(link, "new");
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(contents(file), "new");
}

TEST(WholeFile, ADeviceIsWrittenToAndNotReplaced) {
  TemporaryFolder folder;
  auto path = folder.path("null");
  std::filesystem::create_symlink("/dev/null", path);
  write_whole_file(path, "gone");
  EXPECT_TRUE(std::filesystem::is_symlink(path));
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  EXPECT_EQ(files_in(folder), 1U);
}

TEST(WholeFile, AFullDevice) {
  TemporaryFolder folder;
  auto path = folder.path("full");
  std::filesystem::create_symlink("/dev/full", path);
  EXPECT_EQ(folder.without_folder(input_error([&] { write_whole_file(path, "x"); })),
            "error: cannot write 'full': No space left on device\n"
            "hint: check the disk and the permissions");
  EXPECT_TRUE(std::filesystem::is_symlink(path));
}

TEST(WholeFile, APipeIsWrittenTo) {
  TemporaryFolder folder;
  auto path = folder.path("pipe");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  int fd = open(path.c_str(), O_RDWR | O_NONBLOCK);
  ASSERT_GE(fd, 0);
  write_whole_file(path, "hello");
  char buffer[16];
  auto got = read(fd, buffer, sizeof buffer);
  ASSERT_GT(got, 0) << "nothing came through the pipe";
  EXPECT_EQ(std::string(buffer, static_cast<std::size_t>(got)), "hello");
  close(fd);
  EXPECT_TRUE(std::filesystem::is_fifo(path));
}

TEST(WholeFile, NoFolder) {
  TemporaryFolder folder;
  EXPECT_EQ(folder.without_folder(input_error([&] { write_whole_file(folder.path("no/out.json"), "x"); })),
            "error: cannot write 'no/out.json': No such file or directory\n"
            "hint: check the disk and the permissions");
}

// Somebody else's folder may hold a link where our temporary file would be.
TEST(WholeFile, APlantedLinkIsNotFollowed) {
  TemporaryFolder folder;
  auto victim = folder.write("victim", "precious");
  std::filesystem::create_symlink(victim, folder.path(fmt::format(".out.json.{}.tmp", getpid())));
  for (int number : {0, 1})
    std::filesystem::create_symlink(victim, folder.path(fmt::format(".ddpsim.{}.{}.tmp", getpid(), number)));
  auto path = folder.path("out.json");
  write_whole_file(path, "new");
  EXPECT_EQ(contents(victim), "precious");
  EXPECT_EQ(contents(path), "new");
  EXPECT_FALSE(std::filesystem::is_symlink(path));
  EXPECT_EQ(files_in(folder), 5U);
}

TEST(WholeFile, HasThePermissionsOfAnyNewFile) {
  TemporaryFolder folder;
  auto path = folder.path("out.json");
  auto old = umask(027);
  write_whole_file(path, "new");
  umask(old);
  EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms(0640));
}

TEST(WholeFile, TheLongestNameThatAFileMayHave) {
  TemporaryFolder folder;
  auto path = folder.path(std::string(255, 'x'));
  write_whole_file(path, "new");
  EXPECT_EQ(contents(path), "new");
}

std::string check_error(const TemporaryFolder& folder, const std::string& path) {
  return folder.without_folder(input_error([&] { check_writable(path, "--json"); }));
}

TEST(CheckWritable, NewFileOldFileAndDevice) {
  TemporaryFolder folder;
  EXPECT_NO_THROW(check_writable(folder.path("new.json"), "--json"));
  EXPECT_EQ(files_in(folder), 0U);  // it only looks
  EXPECT_NO_THROW(check_writable(folder.write("old.json", "old"), "--json"));
  EXPECT_EQ(contents(folder.path("old.json")), "old");
  EXPECT_NO_THROW(check_writable("/dev/null", "--json"));
}

TEST(CheckWritable, Errors) {
  TemporaryFolder folder;
  std::filesystem::create_directory(folder.path("sub"));
  EXPECT_EQ(check_error(folder, ""), "error: --json needs a file name");
  EXPECT_EQ(check_error(folder, folder.path("sub")),
            "error: --json: 'sub' is a directory\n"
            "hint: name a file inside it");
  EXPECT_EQ(check_error(folder, folder.path("no/out.json")),
            "error: --json: there is no folder 'no'\n"
            "hint: create it first");
}

// In a process of its own, which gives up root's right to write everywhere.
TEST(CheckWritable, WithoutPermission) {
  TemporaryFolder folder;
  std::filesystem::create_directory(folder.path("sub"));
  std::filesystem::permissions(folder.path("sub"), std::filesystem::perms::owner_read);
  std::filesystem::permissions(folder.path("."), std::filesystem::perms::all);
  auto check = [&] {
    if (geteuid() == 0 && setuid(65534) != 0) _exit(1);
    check_writable("/dev/null", "--json");  // writable, though its folder is not
    std::fputs(check_error(folder, folder.path("sub/out.json")).c_str(), stderr);
    _exit(0);
  };
  EXPECT_EXIT(check(), ::testing::ExitedWithCode(0),
              "^error: --json: folder 'sub' is not writable\n"
              "hint: choose another folder$");
}

}  // namespace
}  // namespace ddpsim
