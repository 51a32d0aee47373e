// What the ranks tell each other.
#include <numeric>

#include "tests/validate/nccl/ranks.hpp"

namespace ddpsim::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using validate::NcclBackend;

class CommunicationTest : public NcclTest {};

TEST_F(CommunicationTest, TheBufferStartsAtZero) {
  on_ranks(1, [](NcclBackend& backend) {
    backend.allocate(5);
    EXPECT_THAT(backend.read({0, 5}), ElementsAre(0, 0, 0, 0, 0));
  });
}

TEST_F(CommunicationTest, AllReduceSumsItsRangeAndNothingElse) {
  FakeGpu::get().devices = 3;
  on_ranks(3, [](NcclBackend& backend) {
    auto rank = static_cast<float>(backend.rank());
    backend.allocate(5);
    backend.write(0, std::vector<float>{rank, rank, 10 * rank, rank, rank});
    perform(backend, [](RecordedStep& step) { step.all_reduce({1, 2}); });
    EXPECT_THAT(backend.read({0, 5}), ElementsAre(rank, 3, 30, rank, rank));
    EXPECT_THAT(backend.read({2, 1}), ElementsAre(30));
  });
}

// Two elements a rank, from 1 on.
TEST_F(CommunicationTest, AllGatherTakesEveryRanksPart) {
  FakeGpu::get().devices = 3;
  on_ranks(3, [](NcclBackend& backend) {
    auto rank = static_cast<float>(backend.rank());
    backend.allocate(8);
    backend.write(0, std::vector<float>(8, rank));
    perform(backend, [](RecordedStep& step) { step.all_gather({1, 6}); });
    EXPECT_THAT(backend.read({0, 8}), ElementsAre(rank, 0, 0, 1, 1, 2, 2, rank));
  });
}

TEST_F(CommunicationTest, ReduceScatterSumsARanksOwnPart) {
  on_ranks(2, [](NcclBackend& backend) {
    auto rank = static_cast<float>(backend.rank());
    backend.allocate(4);
    backend.write(0, std::vector<float>{rank, 10 + rank, 20 + rank, 30 + rank});
    perform(backend, [](RecordedStep& step) { step.reduce_scatter({0, 4}); });
    if (rank == 0)
      EXPECT_THAT(backend.read({0, 2}), ElementsAre(1, 21));
    else
      EXPECT_THAT(backend.read({2, 2}), ElementsAre(41, 61));
  });
}

TEST_F(CommunicationTest, BroadcastIsOfRank0) {
  on_ranks(2, [](NcclBackend& backend) {
    backend.allocate(4);
    float mine = backend.rank() == 0 ? 7.0F : 1.0F;
    backend.write(1, std::vector<float>{mine, mine, mine});
    backend.broadcast({2, 2});
    EXPECT_THAT(backend.read({0, 4}), ElementsAre(0, mine, 7, 7));
  });
}

TEST_F(CommunicationTest, MaximumOfEachElement) {
  on_ranks(2, [](NcclBackend& backend) {
    double sign = backend.rank() == 0 ? 1 : -1;
    EXPECT_THAT(backend.maximum({sign, -sign, -5 + sign}), ElementsAre(1, 1, -4));
    EXPECT_THAT(backend.maximum({}), ElementsAre());
    std::vector<double> many(10000), expected(10000);
    std::iota(expected.begin(), expected.end(), 0.0);
    for (std::size_t i = 0; i < many.size(); ++i)
      many[i] = static_cast<int>(i % 2) == backend.rank() ? expected[i] : -1;
    EXPECT_EQ(backend.maximum(many), expected);
  });
}

TEST_F(CommunicationTest, ManyRanksInOneProcess) {
  FakeGpu::get().devices = 8;
  on_ranks(8, [](NcclBackend& backend) {
    EXPECT_EQ(backend.world_size(), 8);
    EXPECT_EQ(backend.name(), "nccl");
    EXPECT_THAT(backend.maximum({static_cast<double>(backend.rank())}), ElementsAre(7));
  });
  EXPECT_EQ(FakeGpu::get().calls("ncclGetUniqueId"), 1);
  EXPECT_EQ(FakeGpu::get().calls("ncclCommDestroy"), 8);
  EXPECT_EQ(FakeGpu::get().calls("ncclCommAbort"), 0);
}

}  // namespace
}  // namespace ddpsim::testing
