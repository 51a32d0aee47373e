// What jobs have in common is read, and found, once.
#include "sim/resolve/files.hpp"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "sim/resolve/resolve.hpp"

#include "tests/config/text.hpp"

namespace ddpsim::testing {
namespace {

constexpr const char* kScenario = DDPSIM_SOURCE_DIR "/configs/a.yaml";

struct SquareKey {
  using Value = int;
  int of;
  auto operator<=>(const SquareKey&) const = default;
  static std::size_t kept(int) { return 40'000'000; }
};
struct CubeKey {
  using Value = int;
  int of;
  auto operator<=>(const CubeKey&) const = default;
};

TEST(Files, AnAnswerIsFoundOnceByHoweverManyThreads) {
  Files files(kScenario);
  std::atomic<int> made = 0;
  std::vector<std::jthread> threads;
  std::vector<int> found(8);
  for (auto& one : found)
    threads.emplace_back([&] {
      one = files.once(SquareKey{7}, [&] {
        ++made;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        return 49;
      });
    });
  threads.clear();
  EXPECT_EQ(made, 1);
  EXPECT_EQ(found, std::vector<int>(8, 49));
}

TEST(Files, EachQuestionHasAnswersOfItsOwn) {
  Files files(kScenario);
  EXPECT_EQ(files.once(SquareKey{3}, [] { return 9; }), 9);
  EXPECT_EQ(files.once(CubeKey{3}, [] { return 27; }), 27);
  EXPECT_EQ(files.once(SquareKey{3}, [] { return 0; }), 9);
}

TEST(Files, WhatFailedIsTriedAgain) {
  Files files(kScenario);
  auto fail = []() -> int { throw InputError("not now", "later"); };
  EXPECT_THROW(files.once(CubeKey{1}, fail), InputError);
  EXPECT_EQ(files.once(CubeKey{1}, [] { return 1; }), 1);
}

TEST(Files, KnowHowMuchTheyKeep) {
  Files files(kScenario);
  for (int i = 0; i < 6; ++i) files.once(SquareKey{i}, [i] { return i * i; });
  EXPECT_FALSE(files.keeps_much());  // of one job, maybe
  files.once(SquareKey{0}, [] { return 0; });
  EXPECT_FALSE(files.keeps_much());
  files.once(SquareKey{6}, [] { return 36; });
  EXPECT_TRUE(files.keeps_much());
}

Scenario read(Files& files, const std::string& more, const std::string& cluster = "") {
  return resolve(files, parse("workload: {trace: ../traces/gpt2-large-a100-bs4.csv}\n"
                              "cluster: {topology: dgx-a100, world_size: 16" +
                              cluster + "}\n" + more));
}

TEST(Files, JobsThatDifferInTheirBucketsShareTheirCluster) {
  Files files(kScenario);
  auto usual = read(files, ""), small = read(files, "ddp: {bucket_cap: 1MiB}\n");
  EXPECT_EQ(usual.communication, small.communication);
  EXPECT_EQ(usual.trace, small.trace);
  EXPECT_NE(usual.plan, small.plan);
}

TEST(Files, WhatIsDifferentFromTheTopologysFileIsAnotherCluster) {
  Files files(kScenario);
  auto usual = read(files, ""), slow = read(files, "", ", nics: {bandwidth: 50Gbps}");
  EXPECT_NE(usual.communication, slow.communication);
  EXPECT_EQ(usual.trace, slow.trace);
}

}  // namespace
}  // namespace ddpsim::testing
