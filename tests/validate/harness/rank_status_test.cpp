#include "validate/harness/rank_status.hpp"

#include <chrono>
#include <csignal>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/errors.hpp"
#include "tests/support/scoped_environment.hpp"

namespace ddpsim::validate {
namespace {

using ddpsim::testing::input_error;
using ddpsim::testing::ScopedEnvironment;
using ddpsim::testing::Variables;
using ::testing::HasSubstr;

// What a launcher shares with three ranks.
class RankStatusTest : public ::testing::Test {
 protected:
  RankStatusTest() : file_(memfd_create("test", MFD_CLOEXEC)) {
    EXPECT_EQ(ftruncate(file_, kBytes), 0);
    status_ = static_cast<RankStatus*>(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0));
  }
  ~RankStatusTest() override {
    munmap(status_, kBytes);
    close(file_);
  }
  [[nodiscard]] ScopedEnvironment shared() const {
    return ScopedEnvironment(Variables{{"DDPSIM_STATUS_FD", std::to_string(file_)}});
  }
  // Whether the heart beats within ten seconds.
  [[nodiscard]] bool beats(int rank) const {
    auto before = status_[rank].heartbeats.load();
    for (int i = 0; i < 1000 && status_[rank].heartbeats == before; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return status_[rank].heartbeats != before;
  }

  static constexpr std::size_t kBytes = 3 * sizeof(RankStatus);
  int file_;
  RankStatus* status_;
};

TEST_F(RankStatusTest, EachRankHasItsEntry) {
  auto environment = shared();
  StatusReporter first(0), last(2);
  first.doing("all-reduce 1");
  last.doing("all-reduce 2");
  EXPECT_EQ(activity_of(status_[0]), "all-reduce 1");
  EXPECT_EQ(activity_of(status_[1]), "");
  EXPECT_EQ(activity_of(status_[2]), "all-reduce 2");
  EXPECT_TRUE(beats(0));
  EXPECT_TRUE(beats(2));
  EXPECT_EQ(status_[1].heartbeats, 0U);
}

TEST_F(RankStatusTest, TheHeartStopsWithTheReporter) {
  auto environment = shared();
  auto start = std::chrono::steady_clock::now();
  {
    StatusReporter reporter(1);
    EXPECT_TRUE(beats(1));
    EXPECT_TRUE(beats(1));
    reporter.doing("the last step");
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  auto after = status_[1].heartbeats.load();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ(status_[1].heartbeats, after);
  EXPECT_EQ(activity_of(status_[1]), "the last step");
}

TEST_F(RankStatusTest, AShorterActivityReplacesALongerOne) {
  auto environment = shared();
  StatusReporter reporter(0);
  reporter.doing(std::string(100, 'a'));
  reporter.doing("b");
  EXPECT_EQ(activity_of(status_[0]), "b");
  reporter.doing("");
  EXPECT_EQ(activity_of(status_[0]), "");
}

TEST_F(RankStatusTest, ALongActivityIsCut) {
  auto environment = shared();
  StatusReporter reporter(0);
  reporter.doing(std::string(kActivityBytes, 'a'));
  EXPECT_EQ(activity_of(status_[0]), std::string(kActivityBytes, 'a'));
  reporter.doing(std::string(1000, 'a'));
  EXPECT_EQ(activity_of(status_[0]), std::string(kActivityBytes, 'a'));
  // Not inside a character: the last one that fits is the one before it.
  reporter.doing(std::string(kActivityBytes - 1, 'a') + "\u00e9");
  EXPECT_EQ(activity_of(status_[0]), std::string(kActivityBytes - 1, 'a'));
}

TEST_F(RankStatusTest, AReaderNeverSeesHalfAnActivity) {
  auto environment = shared();
  StatusReporter reporter(0);
  std::jthread writer([&](const std::stop_token& stop) {
    for (char letter = 'a'; !stop.stop_requested();
         letter = letter == 'z' ? 'a' : static_cast<char>(letter + 1)) {
      reporter.doing(std::string(kActivityBytes, letter));
      std::this_thread::yield();
    }
  });
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  int changes = 0;
  for (std::string before; changes < 200 && std::chrono::steady_clock::now() < end;) {
    auto text = activity_of(status_[0]);
    ASSERT_EQ(text.find_first_not_of(text.substr(0, 1)), std::string::npos) << text;
    changes += text != before;
    before = text;
  }
  EXPECT_EQ(changes, 200);
}

// The version stays odd.
TEST_F(RankStatusTest, ARankThatDiedWhileWriting) {
  auto environment = shared();
  StatusReporter reporter(0);
  reporter.doing("all-reduce 1");
  ++status_[0].version;
  EXPECT_EQ(activity_of(status_[0]), "all-reduce 1");
  reporter.doing("all-reduce 2");
  EXPECT_EQ(status_[0].version % 2, 0U);
  EXPECT_EQ(activity_of(status_[0]), "all-reduce 2");
}

TEST_F(RankStatusTest, TheHeartTakesNoSignals) {
  auto environment = shared();
  StatusReporter reporter(0);
  sigset_t term;
  sigemptyset(&term);
  sigaddset(&term, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &term, nullptr);
  kill(getpid(), SIGUSR1);  // would end the process if any thread took it
  EXPECT_TRUE(beats(0));
  int taken = 0;
  EXPECT_EQ(sigwait(&term, &taken), 0);
  EXPECT_EQ(taken, SIGUSR1);
  pthread_sigmask(SIG_UNBLOCK, &term, nullptr);
}

TEST(StatusReporter, WithoutALauncherItDoesNothing) {
  ScopedEnvironment environment(Variables{{"DDPSIM_STATUS_FD", {}}});
  StatusReporter reporter(5);
  reporter.doing("all-reduce 1");
}

TEST_F(RankStatusTest, ADescriptorOfNoSuchFile) {
  auto environment = shared();
  EXPECT_THAT(input_error([] { StatusReporter reporter(3); }),
              HasSubstr("which is no file with an entry of rank 3"));
  ScopedEnvironment closed(Variables{{"DDPSIM_STATUS_FD", "12345"}});
  EXPECT_THAT(input_error([] { StatusReporter reporter(0); }), HasSubstr("DDPSIM_STATUS_FD is 12345"));
  ScopedEnvironment text(Variables{{"DDPSIM_STATUS_FD", "three"}});
  EXPECT_THAT(input_error([] { StatusReporter reporter(0); }), HasSubstr("DDPSIM_STATUS_FD is 'three'"));
}

}  // namespace
}  // namespace ddpsim::validate
