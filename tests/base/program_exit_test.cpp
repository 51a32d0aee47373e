#include "sim/base/program_exit.hpp"

#include <csignal>
#include <filesystem>
#include <new>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/base/environment_error.hpp"
#include "sim/base/standard_error.hpp"

#include "tests/support/temporary_folder.hpp"

namespace ddpsim {
namespace {

template <class Error>
Failure failure(const Error& error) {
  return failure_of(std::make_exception_ptr(error));
}

TEST(FailureOf, WhatTheMachineRefuses) {
  auto refused = failure(EnvironmentError("no processes", "end some"));
  EXPECT_EQ(refused.code, kEnvironment);
  EXPECT_EQ(refused.message, "error: no processes\nhint: end some");
  EXPECT_EQ(failure(std::bad_alloc()).code, kEnvironment);
  EXPECT_TRUE(failure(std::bad_alloc()).message.starts_with("error: out of memory\nhint: "));
  for (int error : {EAGAIN, ENOMEM, EMFILE, ENFILE})
    EXPECT_EQ(failure(std::system_error(error, std::generic_category())).code, kEnvironment) << error;
  EXPECT_EQ(failure(std::system_error(EINVAL, std::generic_category())).code, kInternal);
}

TEST(FailureOf, WhatWasJudged) {
  auto missed = failure(ThresholdMissed("missed: all"));
  EXPECT_EQ(missed.code, 1);
  EXPECT_EQ(missed.message, "missed: all");
  auto noisy = failure(TooNoisy("too noisy to judge"));
  EXPECT_EQ(noisy.code, 7);
  EXPECT_EQ(noisy.message, "too noisy to judge");
}

TEST(WriteStderr, ClosedOrFullItIsSilent) {
  auto write_to = [](const char* device) {
    close(STDERR_FILENO);
    if (device && open(device, O_WRONLY) != STDERR_FILENO) _exit(1);
    print_stderr("note: {}\n", "lost");
    _exit(fail({kMissed, "error"}) == kMissed ? 0 : 1);
  };
  EXPECT_EXIT(write_to(nullptr), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(write_to("/dev/full"), ::testing::ExitedWithCode(0), "");
}

TEST(StartProgram, AFileNeverTakesTheNumberOfAClosedStream) {
  auto open_with_closed_streams = [] {
    for (int fd : {0, 1, 2}) close(fd);
    start_program();
    int file = open("/dev/null", O_RDWR);
    char byte = 'x';
    // They stay useless, so that a result that goes nowhere is an error.
    _exit(file > STDERR_FILENO && write(STDOUT_FILENO, &byte, 1) < 0 && read(STDIN_FILENO, &byte, 1) < 0 ? 0
                                                                                                         : 1);
  };
  EXPECT_EXIT(open_with_closed_streams(), ::testing::ExitedWithCode(0), "");
}

TEST(StartProgram, AnUncaughtExceptionIsReported) {
  auto let_go = [] {
    start_program();
    std::thread([] { throw std::bad_alloc(); }).join();
  };
  EXPECT_EXIT(let_go(), ::testing::ExitedWithCode(kEnvironment), "^error: out of memory\nhint: ");
}

// As of any other program whose reader has left, and its files are removed.
TEST(StartProgram, ABrokenPipeEndsItAndLeavesNothing) {
  testing::TemporaryFolder folder;
  auto path = folder.write("half", "done");
  auto write_to_nobody = [&] {
    start_program();
    RemovedOnInterrupt removed(path);
    int ends[2];
    if (pipe(ends) != 0) _exit(1);
    close(ends[0]);
    [[maybe_unused]] auto written = write(ends[1], "x", 1);
    _exit(2);
  };
  EXPECT_EXIT(write_to_nobody(), ::testing::KilledBySignal(SIGPIPE), "");
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace ddpsim
