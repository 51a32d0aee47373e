// Files that are no layer trace at all, with the whole message.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "sim/trace/trace_file.hpp"

#include "tests/support/errors.hpp"

namespace ddpsim {
namespace {

// Has a folder of its own; messages are pinned without its name.
class TraceFileErrors : public ::testing::Test {
 protected:
  TraceFileErrors() {
    std::string pattern = (std::filesystem::temp_directory_path() / "ddpsim_trace_XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~TraceFileErrors() override { std::filesystem::remove_all(folder_); }

  std::string error_of_file(const std::string& contents) {
    auto path = (folder_ / "t.csv").string();
    std::ofstream(path, std::ios::binary) << contents;
    return without_folder(testing::input_error([&] { read_trace(path); }));
  }

  [[nodiscard]] std::string without_folder(const std::string& message) const {
    auto prefix = folder_.string();
    return message.starts_with(prefix) ? message.substr(prefix.size()) : message;
  }

  std::filesystem::path folder_;
};

TEST_F(TraceFileErrors, Missing) {
  EXPECT_EQ(without_folder(testing::input_error([&] { read_trace(folder_ / "t.csv"); })),
            "/t.csv: error: no such file (expected a layer trace)\nhint: check the path");
}

TEST_F(TraceFileErrors, Directory) {
  EXPECT_EQ(without_folder(testing::input_error([&] { read_trace(folder_); })),
            ": error: is a directory, not a layer trace\nhint: name a file inside it");
}

TEST_F(TraceFileErrors, Empty) {
  EXPECT_EQ(error_of_file(""),
            "/t.csv: error: is empty (expected a layer trace)\nhint: is it the right file?");
  EXPECT_EQ(error_of_file(" \n\n"),
            "/t.csv: error: is empty (expected a layer trace)\nhint: is it the right file?");
}

TEST_F(TraceFileErrors, Binary) {
  EXPECT_EQ(error_of_file(std::string("\x7f"
                                      "ELF\0\1",
                                      6)),
            "/t.csv: error: holds NUL bytes; it is not a layer trace\nhint: is it a binary file?");
}

TEST_F(TraceFileErrors, AnotherKindOfTable) {
  EXPECT_EQ(error_of_file("# ddpsim-allreduce: 1\nbytes,time_s\n4,0.1\n"),
            "/t.csv: error: has no line '# ddpsim-trace: 1'; it is not a layer trace\n"
            "hint: is it the right file? That line comes first");
}

}  // namespace
}  // namespace ddpsim
