#include "sim/base/input_file.hpp"

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/base/source.hpp"

#include "tests/support/errors.hpp"
#include "tests/support/temporary_folder.hpp"

namespace ddpsim {
namespace {

using std::chrono::milliseconds;
using testing::input_error;
using testing::TemporaryFolder;

std::string read_all(const Descriptor& file) {
  std::string text;
  char block[100];
  for (ssize_t got; (got = read(file.get(), block, sizeof block)) > 0;)
    text.append(block, static_cast<std::size_t>(got));
  return text;
}

std::string error_of(const TemporaryFolder& folder, const std::string& name) {
  return folder.without_folder(
      input_error([&] { open_input(folder.path(name), "a scenario", milliseconds(50)); }));
}

class NamedPipe : public ::testing::Test {
 protected:
  NamedPipe() { EXPECT_EQ(mkfifo(path.c_str(), 0600), 0); }
  TemporaryFolder folder;
  std::string path = folder.path("pipe");
};

TEST(OpenInput, AFile) {
  TemporaryFolder folder;
  EXPECT_EQ(read_all(open_input(folder.write("file", "text"), "a scenario")), "text");
}

TEST(OpenInput, Errors) {
  TemporaryFolder folder;
  folder.write("file", "text");
  std::filesystem::create_directory(folder.path("sub"));
  std::filesystem::create_symlink("loop", folder.path("loop"));
  EXPECT_EQ(error_of(folder, "no"), "no: error: no such file (expected a scenario)\nhint: check the path");
  EXPECT_EQ(error_of(folder, "file/x"),
            "file/x: error: no such file (expected a scenario)\nhint: check the path");
  EXPECT_EQ(error_of(folder, "sub"),
            "sub: error: is a directory, not a scenario\nhint: name a file inside it");
  EXPECT_EQ(error_of(folder, "loop"),
            "loop: error: too many levels of symbolic links\nhint: a link on this path leads back to itself");
}

TEST_F(NamedPipe, ThatNobodyWritesToIsRefused) {
  EXPECT_EQ(error_of(folder, "pipe"),
            "pipe: error: is a pipe that nobody writes to\n"
            "hint: start the program that writes to it, or name a file");
}

// A writer that comes late, and takes longer to write than a writer may take to come.
TEST_F(NamedPipe, WithALateAndSlowWriter) {
  std::thread writer([&] {
    std::this_thread::sleep_for(milliseconds(50));
    std::FILE* file = std::fopen(path.c_str(), "w");
    std::this_thread::sleep_for(milliseconds(400));
    std::fputs("text", file);
    std::fclose(file);
  });
  EXPECT_EQ(read_all(open_input(path, "a scenario", milliseconds(300))), "text");
  writer.join();
}

TEST_F(NamedPipe, WhoseWriterHasLeft) {
  int keeper = open(path.c_str(), O_RDWR);
  ASSERT_EQ(write(keeper, "text", 4), 4);
  auto file = open_input(path, "a scenario", milliseconds(300));
  close(keeper);
  EXPECT_EQ(read_all(file), "text");
}

}  // namespace
}  // namespace ddpsim
