#include "sim/base/read_files.hpp"

#include <filesystem>

#include <gtest/gtest.h>

#include "sim/base/output_file.hpp"
#include "sim/base/source.hpp"

#include "tests/support/errors.hpp"
#include "tests/support/temporary_folder.hpp"

namespace ddpsim {
namespace {

using testing::input_error;
using testing::TemporaryFolder;

// The list is that of the process: each test in a folder of its own.
class ReadFilesTest : public ::testing::Test {
 protected:
  std::string error_of(const std::string& output) {
    return folder.without_folder(input_error([&] { write_whole_file(output, "new"); }));
  }
  TemporaryFolder folder;
  std::string input = folder.write("input", "precious");
};

TEST_F(ReadFilesTest, WhatWasReadIsNotWrittenOver) {
  write_whole_file(input, "precious");  // nobody has read it yet
  load_text(input, "a text");
  auto hard = folder.path("hard"), soft = folder.path("soft");
  std::filesystem::create_hard_link(input, hard);
  std::filesystem::create_symlink(hard, soft);
  const std::string hint = "\nhint: give it another name";
  EXPECT_EQ(error_of(input), "error: input would overwrite the input" + hint);
  EXPECT_EQ(error_of(folder.path("./input")), "error: ./input would overwrite the input" + hint);
  EXPECT_EQ(error_of(hard), "error: hard would overwrite the input input" + hint);
  EXPECT_EQ(error_of(soft), "error: soft would overwrite the input input" + hint);
  EXPECT_EQ(load_text(input, "a text").text, "precious");
  EXPECT_NO_THROW(write_whole_file(folder.path("output"), "new"));
}

// An input that is replaced meanwhile is still one; of one that is gone another file may have the inode by
// now.
TEST_F(ReadFilesTest, FilesAreComparedAsTheyAreThen) {
  load_text(input, "a text");
  write_whole_file(folder.path("other"), "newer");
  std::filesystem::rename(folder.path("other"), input);
  EXPECT_EQ(error_of(input), "error: input would overwrite the input\nhint: give it another name");
  std::filesystem::remove(input);
  for (int i = 0; i < 20; ++i) write_whole_file(folder.path("output"), std::to_string(i));
  EXPECT_NO_THROW(write_whole_file(input, "new"));
}

TEST_F(ReadFilesTest, WhatAppearsWhileItIsWrittenSurvives) {
  auto path = folder.path("output");
  WholeFile output(path);
  output.append("new");
  folder.write("output", "precious");
  load_text(path, "a text");
  EXPECT_EQ(folder.without_folder(input_error([&] { output.finish(); })),
            "error: output would overwrite the input\nhint: give it another name");
  EXPECT_EQ(load_text(path, "a text").text, "precious");
}

TEST_F(ReadFilesTest, WhatIsAnnouncedIsNotRead) {
  auto link = folder.path("link");
  std::filesystem::create_symlink(input, link);
  announce_output(link, "--json link");
  EXPECT_EQ(folder.without_folder(input_error([&] { load_text(input, "a text"); })),
            "error: --json link would overwrite the input input\nhint: give it another name");
  EXPECT_EQ(folder.without_folder(input_error([&] { load_text(link, "a text"); })),
            "error: --json link would overwrite the input\nhint: give it another name");
}

TEST_F(ReadFilesTest, CheckedBeforeWorkStarts) {
  load_text(input, "a text");
  EXPECT_EQ(folder.without_folder(input_error([&] { check_writable(input, "--json"); })),
            "error: --json input would overwrite the input\nhint: give it another name");
}

}  // namespace
}  // namespace ddpsim
