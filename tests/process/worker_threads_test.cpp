#include "sim/process/worker_threads.hpp"

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ddpsim {
namespace {

using std::chrono::microseconds;

TEST(WorkerThreads, EveryTaskOnceHandedOverInOrder) {
  for (unsigned workers : {1U, 2U, 7U}) {
    std::vector<std::atomic<int>> calls(1000);
    std::atomic<bool> known_worker = true;
    std::size_t next = 0;
    run_in_threads(
        calls.size(), workers, 10,
        [&](unsigned worker, std::size_t i) {
          if (worker >= workers) known_worker = false;
          if (i % 37 == 0) std::this_thread::sleep_for(microseconds(300));
          ++calls[i];
        },
        [&](std::size_t i) {
          EXPECT_EQ(i, next++);
          EXPECT_EQ(calls[i], 1);
        });
    EXPECT_EQ(next, calls.size());
    EXPECT_TRUE(known_worker);
    for (const auto& one : calls) EXPECT_EQ(one, 1);
  }
}

TEST(WorkerThreads, NoneRunsFartherAheadThanTheWindow) {
  constexpr std::size_t kWindow = 5;
  std::atomic<std::size_t> handed_over = 0, farthest = 0;
  run_in_threads(
      300, 4, kWindow,
      [&](unsigned, std::size_t i) {
        auto ahead = i - handed_over;
        auto seen = farthest.load();
        while (ahead > seen && !farthest.compare_exchange_weak(seen, ahead)) {
        }
      },
      [&](std::size_t) {
        std::this_thread::sleep_for(microseconds(100));
        ++handed_over;
      });
  EXPECT_LE(farthest, kWindow);
}

TEST(WorkerThreads, WhatATaskThrowsComesInItsTurn) {
  for (unsigned workers : {1U, 4U}) {
    std::size_t handed_over = 0;
    std::atomic<int> running = 0;
    try {
      run_in_threads(
          100, workers, 50,
          [&](unsigned, std::size_t i) {
            ++running;
            if (i < 20) std::this_thread::sleep_for(microseconds(500));
            --running;
            if (i == 20 || i == 30) throw std::runtime_error("task " + std::to_string(i));
          },
          [&](std::size_t) { ++handed_over; });
      FAIL();
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "task 20");
    }
    EXPECT_EQ(handed_over, 20U);
    EXPECT_EQ(running, 0);
  }
}

TEST(WorkerThreads, WhatHandingOverThrowsEndsAll) {
  std::atomic<int> calls = 0;
  EXPECT_THROW(run_in_threads(
                   1000, 3, 8, [&](unsigned, std::size_t) { ++calls; },
                   [&](std::size_t i) {
                     if (i == 5) throw std::logic_error("no");
                   }),
               std::logic_error);
  EXPECT_LE(calls, 5 + 8);
}

TEST(WorkerThreads, NothingToDo) {
  run_in_threads(
      0, 3, 8, [](unsigned, std::size_t) { FAIL(); }, [](std::size_t) { FAIL(); });
}

}  // namespace
}  // namespace ddpsim
