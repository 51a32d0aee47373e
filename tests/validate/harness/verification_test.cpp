// Faults of a backend, and whether a run notices them.
#include "validate/harness/verification.hpp"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/validate/harness/fake_backend.hpp"
#include "tests/validate/harness/recorded_step.hpp"

namespace ddpsim::validate::test {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr std::size_t kElements = 8;

// Of 3 and 5 elements.
Step two_collectives(Operation operation) {
  RecordedStep recorded;
  recorded.collective(operation, {0, 3});
  recorded.collective(operation, {3, 5});
  return recorded.step();
}

// Two rounds of training.
std::vector<std::string> train(const Script& script,
                               const Step& step = two_collectives(Operation::all_reduce)) {
  return on_all_ranks(script, [&](FakeBackend& backend) {
    backend.allocate(kElements);
    Replica replica(backend, kElements);
    for (unsigned round = 1; round <= 2; ++round) {
      replica.fill(step, round);
      backend.perform(step, 1, [](std::size_t) {});
      replica.check(step, round);
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
    auto step = two_collectives(Operation::all_reduce);
    replica.fill(step, 1);
    backend.perform(step, 1, [](std::size_t) {});
    replica.check(step, 1);
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
    RecordedStep recorded;
    recorded.all_reduce({0, kElements});
    replica.fill(recorded.step(), 1);
    written[rank] = backend.read({0, kElements});
    replica.fill(recorded.step(), 2);
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
  script.values = [error](const Script::Values& all) {
    if (all.rank == 1 && all.collective == 1) all.values[2] += error;
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
  script.values = [&](const Script::Values& all) {
    if (all.collective == 0) right = std::exchange(all.values[1], 7.25F);
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

// Two ranks, whose parts are elements 0 and 1 of the first collective and 2 to 4 and 5 to 7 of the second.
Step parts(Operation operation) {
  RecordedStep recorded;
  recorded.collective(operation, {0, 2});
  recorded.collective(operation, {2, 6});
  return recorded.step();
}

TEST(Verification, WhatIsScatteredAndGathered) {
  EXPECT_THAT(train({}, parts(Operation::reduce_scatter)), Each(IsEmpty()));
  EXPECT_THAT(train({}, parts(Operation::all_gather)), Each(IsEmpty()));
  auto both = parts(Operation::all_gather);
  both.add(Operation::all_gather, {0, 2});  // gathered again
  EXPECT_THAT(train({}, both), Each(IsEmpty()));
}

// Element 4 of the second is element 1 of rank 1's part.
TEST(Verification, AWrongPart) {
  Script script;
  script.values = [](const Script::Values& all) {
    if (all.collective == 1) all.values[4] += 0.5F;
  };
  EXPECT_THAT(
      train(script, parts(Operation::reduce_scatter)),
      ElementsAre("rank 0: another rank has left", StartsWith("rank 1: element 1 of reduce-scatter 1 is ")));
  EXPECT_THAT(
      train(script, parts(Operation::all_gather)),
      ElementsAre(AllOf(StartsWith("rank 0: element 4 of all-gather 1 is "), HasSubstr(", and rank 1's is ")),
                  StartsWith("rank 1: element 4 of all-gather 1 is ")));
}

// Every rank keeps its own values instead.
TEST(Verification, AllReducesThatOnlyScatter) {
  EXPECT_THAT(train({}, parts(Operation::all_reduce)), Each(IsEmpty()));
  auto failures = on_all_ranks({}, [](FakeBackend& backend) {
    backend.allocate(kElements);
    Replica replica(backend, kElements);
    auto step = parts(Operation::all_reduce);
    replica.fill(step, 1);
    backend.perform(parts(Operation::reduce_scatter), 1, [](std::size_t) {});
    replica.check(step, 1);
  });
  EXPECT_THAT(failures, ElementsAre(StartsWith("rank 0: element 1 of all-reduce 0 is "),
                                    StartsWith("rank 1: element 0 of all-reduce 0 is ")));
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
  script.values = [](const Script::Values& all) {
    if (all.rank == 1)
      for (float& value : all.values) value += 5e-7F;
  };
  EXPECT_THAT(train(script),
              ElementsAre("rank 0: the ranks' parameters differ", "rank 1: the ranks' parameters differ"));
}

}  // namespace
}  // namespace ddpsim::validate::test
