#pragma once
// Ranks of a run on the imitation of NCCL, as threads that meet on loopback.
#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "validate/harness/rank_program.hpp"
#include "validate/nccl/nccl_backend.hpp"
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/validate/harness/recorded_step.hpp"
#include "tests/validate/nccl/fake_gpu.hpp"

namespace ddpsim::testing {

// An address on loopback that other tests, which are other processes, do not use.
inline std::string own_address() {
  auto pid = static_cast<unsigned>(::getpid());
  return fmt::format("127.{}.{}.{}", 1 + pid / 65536 % 250, pid / 256 % 256, 1 + pid % 254);
}

inline constexpr int kPort = 29500;

inline validate::RankPlace place_of(int rank, int world_size) {
  validate::RankPlace place;
  place.rank = rank;
  place.world_size = world_size;
  place.local_rank = rank;
  place.ranks_here = world_size;
  place.master_address = own_address();
  place.master_port = kPort;
  return place;
}

// Calls `work(rank)` in a thread for each rank; what each threw, "" where it did not.
inline std::vector<std::string> in_threads(int world_size, const std::function<void(int)>& work) {
  std::vector<std::string> errors(static_cast<std::size_t>(world_size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < world_size; ++rank)
    threads.emplace_back([&, rank] {
      try {
        work(rank);
      } catch (const std::exception& error) {
        errors[static_cast<std::size_t>(rank)] = error.what();
      }
    });
  for (auto& thread : threads) thread.join();
  return errors;
}

inline std::vector<std::string> on_ranks(int world_size, Seconds timeout,
                                         const std::function<void(validate::NcclBackend&)>& work) {
  return in_threads(world_size, [&](int rank) {
    validate::NcclBackend backend(place_of(rank, world_size), timeout);
    work(backend);
  });
}

// Ranks that all do well.
inline void on_ranks(int world_size, const std::function<void(validate::NcclBackend&)>& work) {
  EXPECT_THAT(on_ranks(world_size, Seconds(20), work), ::testing::Each(::testing::IsEmpty()));
}

inline void ignore(std::size_t) {}

using validate::test::RecordedStep;

inline RecordedStep recorded(const std::function<void(RecordedStep&)>& program) {
  RecordedStep step;
  program(step);
  return step;
}
inline validate::StepTimes perform(validate::NcclBackend& backend,
                                   const std::function<void(RecordedStep&)>& program) {
  return backend.perform(recorded(program).step(), 1, ignore);
}

// Nothing would hang or race on a GPU, and all is given back.
class NcclTest : public ::testing::Test {
 protected:
  void TearDown() override {
    EXPECT_THAT(FakeGpu::get().violations(), ::testing::IsEmpty());
    EXPECT_EQ(FakeGpu::get().alive(), 0u);
  }
};

}  // namespace ddpsim::testing
