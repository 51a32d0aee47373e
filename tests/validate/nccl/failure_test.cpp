// Calls that fail, and ranks that are gone.
#include <chrono>
#include <latch>

#include "validate/nccl/rendezvous.hpp"

#include "sim/base/program_exit.hpp"

#include "tests/validate/nccl/ranks.hpp"

namespace ddpsim::testing {
namespace {

using namespace literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using validate::NcclBackend;

constexpr Seconds kShort(0.5);

using Program = std::function<void(NcclBackend&)>;

class FailureTest : public NcclTest {};

void empty_step(NcclBackend& backend) {
  perform(backend, [](RecordedStep&) {});
}

// Everything a rank does.
void do_all(NcclBackend& backend) {
  (void)backend.environment();
  backend.allocate(10);
  backend.write(0, std::vector<float>(10, 1.0F));
  backend.broadcast({0, 10});
  auto times = perform(backend, [](RecordedStep& step) {
    step.compute(1_ms);
    step.all_reduce({0, 2});
    step.compute(1_ms);
    step.all_gather({2, 4});
    step.reduce_scatter({6, 4});
    step.wait();
  });
  (void)backend.maximum({times.total.value()});
  (void)backend.read({0, 10});
}

struct Call {
  std::string entry_point;
  std::string called;  // in the message
  friend std::ostream& operator<<(std::ostream& out, const Call& call) { return out << call.entry_point; }
};

class CallTest : public NcclTest, public ::testing::WithParamInterface<Call> {};
INSTANTIATE_TEST_SUITE_P(
    Of, CallTest,
    ::testing::Values(
        Call{"cudaSetDevice", "cudaSetDevice 0"}, Call{"cudaGetDeviceProperties", "cudaGetDeviceProperties"},
        Call{"cudaDeviceGetAttribute", "cudaDeviceGetAttribute"},
        Call{"cudaDriverGetVersion", "cudaDriverGetVersion"},
        Call{"cudaRuntimeGetVersion", "cudaRuntimeGetVersion"},
        Call{"cudaDeviceGetStreamPriorityRange", "cudaDeviceGetStreamPriorityRange"},
        Call{"cudaStreamCreateWithPriority", "cudaStreamCreateWithPriority"},
        Call{"cudaStreamWaitEvent", "cudaStreamWaitEvent"},
        Call{"cudaEventCreateWithFlags", "cudaEventCreateWithFlags"},
        Call{"cudaEventRecord", "cudaEventRecord"}, Call{"cudaEventQuery", "cudaEventQuery"},
        Call{"cudaEventElapsedTime", "cudaEventElapsedTime"}, Call{"cudaMalloc", "cudaMalloc of "},
        Call{"cudaMemsetAsync", "cudaMemsetAsync"}, Call{"cudaMemcpyAsync", "cudaMemcpyAsync"},
        Call{"launch_busy_kernel", "launch of the busy kernel"}, Call{"ncclGetVersion", "ncclGetVersion"},
        Call{"ncclGetUniqueId", "ncclGetUniqueId"}, Call{"ncclCommInitRankConfig", "ncclCommInitRankConfig"},
        Call{"ncclCommGetAsyncError", "ncclCommInitRankConfig"}, Call{"ncclAllReduce", "ncclAllReduce"},
        Call{"ncclAllGather", "ncclAllGather"}, Call{"ncclReduceScatter", "ncclReduceScatter"},
        Call{"ncclBroadcast", "ncclBroadcast"}),
    [](const auto& call) { return call.param.entry_point; });

// Whichever call of it fails, the message names the rank and the call, and nothing is left behind.
TEST_P(CallTest, Fails) {
  int code = GetParam().entry_point.starts_with("nccl") ? int{ncclSystemError} : int{cudaErrorUnknown};
  auto& gpu = FakeGpu::get();
  on_ranks(1, do_all);
  auto calls = gpu.calls(GetParam().entry_point);
  ASSERT_GT(calls, 0);
  for (int after = 0; after < std::min(calls, 40); ++after) {
    gpu.fail(GetParam().entry_point, code, after);
    auto errors = on_ranks(1, Seconds(20), [](NcclBackend& backend) { do_all(backend); });
    if (errors[0].empty()) {
      // Polls differ in number from run to run; the end of a communicator is polled too, and tells nothing.
      EXPECT_THAT(GetParam().entry_point, ::testing::AnyOf("ncclCommGetAsyncError", "cudaEventQuery"));
      EXPECT_GT(after, 0);
      continue;
    }
    EXPECT_THAT(errors[0], AllOf(StartsWith("rank 0: "), HasSubstr(after == 0 ? GetParam().called : "")));
    EXPECT_THAT(errors[0], ::testing::AnyOf(HasSubstr("an error of the test (cudaErrorOfTheTest)"),
                                            HasSubstr("an error of NCCL: the last thing it met")));
    EXPECT_EQ(gpu.alive(), 0u) << after;
  }
}

// RunFailed: exit code 5.
TEST_F(FailureTest, IsAFailedRun) {
  FakeGpu::get().fail("cudaMalloc", cudaErrorMemoryAllocation);
  EXPECT_THROW(NcclBackend(place_of(0, 1), kShort), RunFailed);
  FakeGpu::get().fail("ncclAllReduce", ncclRemoteError);
  NcclBackend backend(place_of(0, 1), kShort);
  EXPECT_THROW(perform(backend, [](RecordedStep&) {}), RunFailed);
}

TEST_F(FailureTest, AStepThatIsLeftIsAborted) {
  FakeGpu::get().fail("cudaStreamWaitEvent", cudaErrorUnknown);
  on_ranks(1, Seconds(20), do_all);
  EXPECT_EQ(FakeGpu::get().calls("ncclCommAbort"), 1);
  EXPECT_EQ(FakeGpu::get().calls("ncclCommFinalize"), 0);
}

TEST_F(FailureTest, AnEndThatFailsIsAnAbort) {
  FakeGpu::get().fail("ncclCommFinalize", ncclSystemError);
  on_ranks(1, [](NcclBackend&) {});
  EXPECT_EQ(FakeGpu::get().calls("ncclCommAbort"), 1);
  EXPECT_EQ(FakeGpu::get().calls("ncclCommDestroy"), 0);
}

TEST_F(FailureTest, WhatNcclFindsLater) {
  auto errors = on_ranks(1, Seconds(20), [](NcclBackend& backend) {
    backend.allocate(10);
    auto step = recorded([](RecordedStep& one) { one.all_reduce({0, 10}); });
    backend.perform(step.step(), 1, [](std::size_t) { FakeGpu::get().report_async_error(ncclRemoteError); });
  });
  EXPECT_EQ(errors[0],
            "rank 0: all-reduce 0 (ncclCommGetAsyncError): an error of NCCL: the last thing it met");
  EXPECT_EQ(FakeGpu::get().calls("ncclCommAbort"), 1);
}

// Rank 1 takes part in so much and then does nothing any more, until rank 0 has noticed.
std::string rank_0_without_rank_1(const Program& rank_0, const Program& rank_1) {
  std::latch noticed(1);
  auto began = std::chrono::steady_clock::now();
  auto errors = in_threads(2, [&](int rank) {
    NcclBackend backend(place_of(rank, 2), kShort);
    if (rank == 1) {
      rank_1(backend);
      noticed.wait();
      return;
    }
    try {
      rank_0(backend);
    } catch (...) {
      noticed.count_down();
      throw;
    }
    noticed.count_down();
  });
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(10));
  EXPECT_EQ(errors[1], "");
  EXPECT_EQ(FakeGpu::get().calls("ncclCommAbort"), 2);  // rank 1 ends without rank 0
  return errors[0];
}

TEST_F(FailureTest, ARankThatNeverComesToAStep) {
  EXPECT_EQ(rank_0_without_rank_1(empty_step, [](NcclBackend&) {}),
            "rank 0: the barrier before a step did not end within 500 ms");
}

TEST_F(FailureTest, ARankThatNeverComesToACollective) {
  auto two = recorded([](RecordedStep& step) {
    step.compute(10_ms);
    step.all_reduce({0, 5});
    step.all_reduce({5, 5});
    step.wait();
    step.compute(10_ms);
  });
  auto message = rank_0_without_rank_1(
      [&](NcclBackend& backend) {
        backend.allocate(10);
        for (int repetition = 0; repetition < 2; ++repetition) backend.perform(two.step(), 1, ignore);
      },
      [&](NcclBackend& backend) {
        backend.allocate(10);
        backend.perform(two.step(), 1, ignore);
        perform(backend, [](RecordedStep& step) { step.all_reduce({0, 5}); });
      });
  EXPECT_EQ(message, "rank 0: all-reduce 1 did not end within 500 ms");
}

TEST_F(FailureTest, ARankThatNeverComesToOneOfVeryMany) {
  auto message = rank_0_without_rank_1(
      [](NcclBackend& backend) {
        backend.allocate(10);
        perform(backend, [](RecordedStep& step) {
          for (int i = 0; i < 2000; ++i) step.all_reduce({0, 5});
        });
      },
      [](NcclBackend& backend) {
        backend.allocate(10);
        empty_step(backend);
      });
  EXPECT_EQ(message, "rank 0: all-reduce 0 did not end within 500 ms");
  EXPECT_LT(FakeGpu::get().calls("ncclAllReduce"), 300);  // not all went into the streams
}

TEST_F(FailureTest, ARankThatIsGoneWhenTimesAreCompared) {
  EXPECT_EQ(
      rank_0_without_rank_1([](NcclBackend& backend) { (void)backend.maximum({1}); }, [](NcclBackend&) {}),
      "rank 0: maximum over the ranks did not end within 500 ms");
}

TEST_F(FailureTest, ARankThatNeverJoins) {
  auto errors = in_threads(2, [](int rank) {
    if (rank == 0)
      NcclBackend backend(place_of(0, 2), kShort);
    else
      validate::meet({1, 2, own_address(), kPort, Seconds(20)}, {});
  });
  EXPECT_EQ(errors[0], "rank 0: ncclCommInitRankConfig did not end within 500 ms");
  EXPECT_EQ(FakeGpu::get().calls("ncclCommAbort"), 1);
}

TEST_F(FailureTest, ARankThatIsGoneAtTheEnd) {
  std::latch gone(1);
  auto errors = in_threads(2, [&](int rank) {
    NcclBackend backend(place_of(rank, 2), kShort);
    if (rank == 1) gone.wait();
    if (rank == 0) gone.count_down();
    if (rank == 1) empty_step(backend);  // rank 0 has left
  });
  EXPECT_EQ(errors[0], "");
  EXPECT_THAT(errors[1], StartsWith("rank 1: the barrier before a step"));
}

}  // namespace
}  // namespace ddpsim::testing
