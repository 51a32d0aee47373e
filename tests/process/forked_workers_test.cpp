#include "sim/process/forked_workers.hpp"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/base/check.hpp"
#include "sim/base/source.hpp"

namespace ddpsim {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using ::testing::ElementsAre;

constexpr uid_t kNobody = 65533;  // not 65534, as whom other tests run

using Task = std::function<std::string(std::size_t)>;

std::vector<std::string> results(std::size_t n, unsigned jobs, const Task& task) {
  std::vector<std::string> out;
  run_in_forked_workers(n, jobs, task, [&](std::size_t i, std::string text) {
    EXPECT_EQ(i, out.size());  // in the order of tasks
    out.push_back(std::move(text));
  });
  return out;
}

template <class Error>
std::string error_of(std::size_t n, unsigned jobs, const Task& task) {
  try {
    results(n, jobs, task);
  } catch (const Error& error) {
    return error.what();
  }
  ADD_FAILURE() << "no such exception";
  return {};
}

// Neither running nor waiting to be reaped.
bool has_children() {
  return waitpid(-1, nullptr, WNOHANG) != -1 || errno != ECHILD;
}

TEST(ForkedWorkers, NoTasks) {
  EXPECT_THAT(results(0, 3, [](std::size_t) { return std::string("x"); }), ElementsAre());
}

TEST(ForkedWorkers, ResultsInTheOrderOfTasks) {
  auto slow_first = [](std::size_t i) {
    std::this_thread::sleep_for(milliseconds(i == 0 ? 100 : 0));
    return std::to_string(i);
  };
  EXPECT_THAT(results(4, 4, slow_first), ElementsAre("0", "1", "2", "3"));
  EXPECT_FALSE(has_children());
}

// The second task waits until the first one's result has been reported.
TEST(ForkedWorkers, AResultIsReportedAsSoonAsItIsKnown) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  auto task = [&](std::size_t i) -> std::string {
    char byte = 0;
    alarm(30);  // instead of waiting forever
    if (i == 1 && read(ends[0], &byte, 1) != 1) throw std::runtime_error("nothing to read");
    return std::to_string(i);
  };
  std::vector<std::string> reported;
  run_in_forked_workers(2, 2, task, [&](std::size_t, std::string text) {
    reported.push_back(std::move(text));
    EXPECT_EQ(write(ends[1], "x", 1), 1);
  });
  EXPECT_THAT(reported, ElementsAre("0", "1"));
  close(ends[0]);
  close(ends[1]);
}

class Jobs : public ::testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(OneTwoSeven, Jobs, ::testing::Values(1U, 2U, 7U),
                         ::testing::PrintToStringParamName());

TEST_P(Jobs, TwoHundredTasks) {
  auto out = results(200, GetParam(), [](std::size_t i) { return std::to_string(i * i); });
  ASSERT_EQ(out.size(), 200U);
  for (std::size_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], std::to_string(i * i));
  EXPECT_FALSE(has_children());
}

// A child that finds the counter at 1 runs in a process where another task has run before.
TEST_P(Jobs, EachTaskStartsFromTheSameState) {
  static int counter = 0;
  auto out = results(10, GetParam(), [](std::size_t) { return std::to_string(counter++); });
  EXPECT_THAT(out, ::testing::Each("0"));
  EXPECT_EQ(counter, 0);
}

TEST_P(Jobs, AtMostSoManyAtOnce) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  auto task = [&](std::size_t) {
    char mark = '+';
    if (write(ends[1], &mark, 1) != 1) std::abort();
    std::this_thread::sleep_for(milliseconds(20));
    mark = '-';
    if (write(ends[1], &mark, 1) != 1) std::abort();
    return std::string();
  };
  results(14, GetParam(), task);
  close(ends[1]);
  int running = 0, most = 0;
  for (char mark = 0; read(ends[0], &mark, 1) == 1;) most = std::max(most, running += mark == '+' ? 1 : -1);
  close(ends[0]);
  EXPECT_GE(most, 1);
  EXPECT_LE(most, static_cast<int>(GetParam()));
}

// All but the last task wait for the last one: they end only if it runs beside them.
TEST_P(Jobs, SoManyAtOnce) {
  unsigned jobs = GetParam();
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  auto task = [&](std::size_t i) -> std::string {
    std::string bytes(jobs, 'x');
    alarm(30);  // instead of waiting forever
    auto moved = i + 1 == jobs ? write(ends[1], bytes.data(), jobs) : read(ends[0], bytes.data(), 1);
    return moved > 0 ? "met" : "nobody there";
  };
  EXPECT_THAT(results(jobs, jobs, task), ::testing::Each("met"));
  close(ends[0]);
  close(ends[1]);
}

TEST_P(Jobs, AnswersLargerThanAPipe) {
  auto task = [](std::size_t i) { return std::string(1'000'000 + i, static_cast<char>('a' + i)); };
  auto out = results(8, GetParam(), task);
  ASSERT_EQ(out.size(), 8U);
  for (std::size_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], task(i));
}

TEST_P(Jobs, AnyBytesAreAnAnswer) {
  std::string bytes("\0i\xff\n", 4);
  EXPECT_THAT(results(2, GetParam(), [&](std::size_t i) { return i == 0 ? bytes : std::string(); }),
              ElementsAre(bytes, ""));
}

// Task 1 fails late, task 2 at once: what is reported does not depend on who is first.
TEST_P(Jobs, TheFirstFailingTaskIsReportedAfterTheResultsBeforeIt) {
  auto task = [](std::size_t i) -> std::string {
    std::this_thread::sleep_for(milliseconds(i == 1 ? 100 : 0));
    if (i >= 1) throw InputError("task " + std::to_string(i));
    return "fine";
  };
  std::vector<std::size_t> reported;
  try {
    run_in_forked_workers(5, GetParam(), task,
                          [&](std::size_t i, const std::string&) { reported.push_back(i); });
    ADD_FAILURE() << "no exception";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "error: task 1");
  }
  EXPECT_THAT(reported, ElementsAre(0U));
  EXPECT_FALSE(has_children());
}

TEST(ForkedWorkers, AnInputErrorKeepsItsWholeText) {
  auto task = [](std::size_t) -> std::string {
    throw InputError({make_source("a.yaml", "cap: 7\n"), 1, 6, 1}, "'7' has no unit", "write it like 25MiB");
  };
  EXPECT_EQ(error_of<InputError>(1, 1, task),
            "a.yaml:1:6: error: '7' has no unit\n"
            "  1 | cap: 7\n"
            "    |      ^\n"
            "hint: write it like 25MiB");
}

TEST(ForkedWorkers, OtherExceptionsAreInternalErrors) {
  auto broken = [](std::size_t) -> std::string { throw InternalError("a broken promise"); };
  EXPECT_EQ(error_of<InternalError>(1, 1, broken), "a broken promise");
  auto other = [](std::size_t) -> std::string { throw std::runtime_error("out of luck"); };
  EXPECT_EQ(error_of<InternalError>(1, 1, other), "out of luck");
}

// Unwinding out of the task would run the parent's code in the child.
TEST(ForkedWorkers, WhatIsNoExceptionDoesNotLeaveTheChild) {
  auto task = [](std::size_t) -> std::string { throw 7; };
  EXPECT_EQ(error_of<InternalError>(1, 1, task), "a task threw what is no exception");
}

TEST(ForkedWorkers, AChildThatDiesIsNamed) {
  auto task = [](std::size_t i) -> std::string {
    if (i == 2) raise(SIGUSR1);
    return "fine";
  };
  EXPECT_EQ(error_of<InternalError>(4, 1, task), "the worker of task 2 died: User defined signal 1");
  auto aborts = [](std::size_t) -> std::string {
    std::signal(SIGABRT, SIG_DFL);
    std::abort();
  };
  EXPECT_EQ(error_of<InternalError>(1, 1, aborts), "the worker of task 0 died: Aborted");
}

TEST(ForkedWorkers, AChildThatJustEndsIsNamed) {
  auto task = [](std::size_t) -> std::string { _exit(0); };
  EXPECT_EQ(error_of<InternalError>(1, 1, task), "the worker of task 0 ended without an answer");
}

TEST(ForkedWorkers, AnEarlyErrorEndsTheOtherChildren) {
  auto start = steady_clock::now();
  auto task = [](std::size_t i) -> std::string {
    if (i == 0) throw InputError("wrong");
    std::this_thread::sleep_for(std::chrono::seconds(60));
    return {};
  };
  EXPECT_EQ(error_of<InputError>(4, 4, task), "error: wrong");
  EXPECT_FALSE(has_children());
  EXPECT_LT(steady_clock::now() - start, std::chrono::seconds(30));
}

TEST(ForkedWorkers, AnErrorOfTheReaderEndsTheOtherChildren) {
  auto task = [](std::size_t i) {
    if (i > 0) std::this_thread::sleep_for(std::chrono::seconds(60));
    return std::string();
  };
  auto refuse = [](std::size_t, const std::string&) { throw std::runtime_error("refused"); };
  EXPECT_THROW(run_in_forked_workers(3, 3, task, refuse), std::runtime_error);
  EXPECT_FALSE(has_children());
}

// What becomes of every task: its answer, or why it was lost.
std::vector<std::string> outcomes(std::size_t n, unsigned jobs, const Task& task) {
  std::vector<std::string> out;
  run_in_forked_workers(
      n, jobs, task, [&](std::size_t, std::string text) { out.push_back(std::move(text)); },
      [&](std::size_t i, const EnvironmentError& why) {
        EXPECT_EQ(i, out.size());  // in its turn
        EXPECT_NE(why.hint(), "");
        out.push_back(why.message());
      });
  EXPECT_FALSE(has_children());
  return out;
}

TEST_P(Jobs, AKilledWorkerLosesItsTaskOnly) {
  auto task = [](std::size_t i) {
    if (i == 1) std::raise(SIGKILL);
    return std::to_string(i);
  };
  EXPECT_THAT(outcomes(4, GetParam(), task),
              ElementsAre("0", "a worker process was ended from outside (signal 9: Killed)", "2", "3"));
  EXPECT_THAT(error_of<EnvironmentError>(4, GetParam(), task),
              ::testing::HasSubstr("hint: the kernel does that when memory runs out; give it more memory"));
}

TEST_P(Jobs, ATaskWithoutMemoryIsLost) {
  auto task = [](std::size_t i) -> std::string {
    if (i == 0) throw std::bad_alloc();
    if (i == 1) throw EnvironmentError("no file", "make one");
    return "fine";
  };
  EXPECT_THAT(outcomes(3, GetParam(), task), ElementsAre("out of memory", "no file", "fine"));
}

// As another user, of whom no more than three processes may run: this one and two workers.
void run_with_few_processes(rlim_t processes, std::size_t n, const char* expected) {
  rlimit limit{processes, processes};
  if (setgid(kNobody) != 0 || setuid(kNobody) != 0 || setrlimit(RLIMIT_NPROC, &limit) != 0) _exit(1);
  std::string out;
  run_in_forked_workers(
      n, 8,
      [](std::size_t i) {
        std::this_thread::sleep_for(milliseconds(20));
        return std::to_string(i) + " ";
      },
      [&](std::size_t, const std::string& text) { out += text; },
      [&](std::size_t, const EnvironmentError& why) { out += why.message() + "\n"; });
  if (out != expected) std::fputs(out.c_str(), stderr);
  _exit(out == expected ? 0 : 1);
}

TEST(ForkedWorkers, WithFewerProcessesThanJobsAllTasksAreDone) {
  if (geteuid() != 0) GTEST_SKIP() << "needs a user who runs nothing else";
  EXPECT_EXIT(run_with_few_processes(3, 9, "0 1 2 3 4 5 6 7 8 "), ::testing::ExitedWithCode(0), "");
}

TEST(ForkedWorkers, WithoutAProcessAllTasksAreLost) {
  if (geteuid() != 0) GTEST_SKIP() << "needs a user who runs nothing else";
  EXPECT_EXIT(run_with_few_processes(1, 2,
                                     "a worker process was refused: Resource temporarily unavailable\n"
                                     "a worker process was refused: Resource temporarily unavailable\n"),
              ::testing::ExitedWithCode(0), "");
}

// With eight descriptors there are pipes to a few workers at a time.
TEST(ForkedWorkers, WithFewFilesAllTasksAreDone) {
  auto run = [] {
    rlimit limit{8, 8};
    for (int fd = 3; fd < 256; ++fd) close(fd);
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) _exit(1);
    auto out = outcomes(20, 20, [](std::size_t i) { return std::to_string(i); });
    for (std::size_t i = 0; i < 20; ++i)
      if (out.at(i) != std::to_string(i)) _exit(2);
    _exit(0);
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(0), "");
}

TEST(ForkedWorkers, NoJobs) {
  EXPECT_THROW(results(1, 0, [](std::size_t) { return std::string(); }), InternalError);
}

}  // namespace
}  // namespace ddpsim
