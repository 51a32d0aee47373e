// Faults of a backend, and whether a run notices them.
#include "validate/harness/verification.hpp"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/validate/harness/fake_backend.hpp"

namespace ddpsim::validate::test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

const std::vector<Range> kRanges{{0, 3}, {3, 5}};
constexpr std::size_t kElements = 8;

// Two rounds of training.
std::vector<std::string> train(const Script& script) {
  return on_all_ranks(script, [](FakeBackend& backend) {
    backend.allocate(kElements);
    Replica replica(backend, kElements);
    for (unsigned round = 1; round <= 2; ++round) {
      replica.write_gradients(kRanges, round);
      backend.start_step();
      for (auto range : kRanges) backend.all_reduce(range);
      replica.step(kRanges, round);
    }
    replica.require_equal();
  });
}

TEST(Verification, AGoodBackend) {
  for (int ranks : {1, 2, 3, 8}) {
    Script script;
    script.ranks = ranks;
    EXPECT_THAT(train(script), Each(IsEmpty())) << ranks;
  }
}

TEST(Verification, TheBufferIsZeroAfterwards) {
  auto failures = on_all_ranks({}, [](FakeBackend& backend) {
    backend.allocate(kElements);
    Replica replica(backend, kElements);
    EXPECT_THAT(backend.read({0, kElements}), Each(0.0F));
    replica.write_gradients(kRanges, 1);
    for (auto range : kRanges) backend.all_reduce(range);
    replica.step(kRanges, 1);
    EXPECT_THAT(backend.read({0, kElements}), Each(0.0F));
  });
  EXPECT_THAT(failures, Each(IsEmpty()));
}

// A sum that leaves out a rank, counts one twice or is an earlier round's is a wrong one.
TEST(Verification, GradientsDifferBetweenRanksElementsAndRounds) {
  std::vector<std::vector<float>> written(2), later(2);
  on_all_ranks({}, [&](FakeBackend& backend) {
    auto rank = static_cast<std::size_t>(backend.rank());
    backend.allocate(kElements);
    Replica replica(backend, kElements);
    replica.write_gradients({{0, kElements}}, 1);
    written[rank] = backend.read({0, kElements});
    replica.write_gradients({{0, kElements}}, 2);
    later[rank] = backend.read({0, kElements});
  });
  for (std::size_t i = 0; i < kElements; ++i) {
    EXPECT_NE(written[0][i], written[1][i]) << i;
    EXPECT_NE(written[0][i], later[0][i]) << i;
    if (i > 0) {
      EXPECT_NE(written[0][i], written[0][i - 1]) << i;
    }
  }
}

// Adds `error` to element 2 of all-reduce 1 on rank 1.
Script wrong_sum(float error) {
  Script script;
  script.sums = [error](const Script::Sums& sums) {
    if (sums.rank == 1 && sums.collective == 1) sums.values[2] += error;
  };
  return script;
}

// Sums are compared to 1e-6 (1 + the values), which are below 2.
TEST(Verification, AWrongSum) {
  for (float error : {0.5F, -1e-5F, std::numeric_limits<float>::quiet_NaN()})
    EXPECT_THAT(train(wrong_sum(error)), ElementsAre("rank 0: another rank has left",
                                                     StartsWith("rank 1: element 2 of all-reduce 1 is ")))
        << error;
}

TEST(Verification, WhatItIsAndShouldBe) {
  Script script;
  script.ranks = 1;
  float right = 0;
  script.sums = [&](const Script::Sums& sums) {
    if (sums.collective == 0) right = std::exchange(sums.values[1], 7.25F);
  };
  auto failure = train(script).front();
  EXPECT_EQ(failure,
            fmt::format("rank 0: element 1 of all-reduce 0 is 7.25, and the average over the ranks is {}",
                        static_cast<double>(right)));
}

// From 1 on instead of from 0: element 0 stays each rank's own, on all of them.
TEST(Verification, AllReduceOfAnotherRange) {
  Script script;
  script.reduced = [](std::size_t collective, Range asked) {
    return collective == 0 ? Range{asked.first + 1, asked.count} : asked;
  };
  EXPECT_THAT(train(script), ElementsAre(StartsWith("rank 0: element 0 of all-reduce 0 is "),
                                         StartsWith("rank 1: element 0 of all-reduce 0 is ")));
}

TEST(Verification, AllReduceOfOneElementLess) {
  Script script;
  script.reduced = [](std::size_t collective, Range asked) {
    return collective == 1 ? Range{asked.first, asked.count - 1} : asked;
  };
  EXPECT_THAT(train(script), ElementsAre(StartsWith("rank 0: element 4 of all-reduce 1 is "),
                                         StartsWith("rank 1: element 4 of all-reduce 1 is ")));
}

// The first of the next range is summed twice.
TEST(Verification, AllReduceOfOneElementMore) {
  Script script;
  script.reduced = [](std::size_t collective, Range asked) {
    return collective == 0 ? Range{asked.first, asked.count + 1} : asked;
  };
  EXPECT_THAT(train(script), ElementsAre(StartsWith("rank 0: element 0 of all-reduce 1 is "),
                                         StartsWith("rank 1: element 0 of all-reduce 1 is ")));
}

TEST(Verification, ABroadcastThatDoesNothing) {
  Script script;
  script.ranks = 3;
  script.deaf_rank = 2;
  EXPECT_THAT(train(script), ElementsAre("rank 0: another rank has left", "rank 1: another rank has left",
                                         "rank 2: parameter 0 is not rank 0's after the broadcast"));
}

// Each sum is right to its last digits, but not the same on both ranks.
TEST(Verification, OtherParametersAtTheEnd) {
  Script script;
  script.sums = [](const Script::Sums& sums) {
    if (sums.rank == 1)
      for (float& value : sums.values) value += 5e-7F;
  };
  EXPECT_THAT(train(script),
              ElementsAre("rank 0: the ranks' parameters differ", "rank 1: the ranks' parameters differ"));
}

}  // namespace
}  // namespace ddpsim::validate::test
