// Every algorithm that Open MPI's rules can name has a schedule, and the schedule does what it should.
#include "sim/cost/mpi_schedules.hpp"

#include <gtest/gtest.h>

#include "sim/collective/verify.hpp"

#include "tests/collective/wirings.hpp"
#include "tests/support/errors.hpp"

namespace ddpsim {
namespace {

TEST(MpiSchedules, EveryRuleHasOneThatIsRight) {
  for (const auto& row : kOperations)
    for (const auto& rule : mpi::rules_of(row.operation))
      for (int n : {2, 3, 4, 5, 6, 8, 12, 16, 33}) {
        if (n >= rule.below_ranks) continue;
        auto picked = mpi::choose(row.operation, n, Bytes(1e7));
        for (auto runs : {picked.runs, rule.algorithm == picked.picked ? picked.runs : rule.algorithm}) {
          bool takes_any = row.operation != Operation::all_gather;  // others hand over
          if (is_in_two(row.operation, runs) || (!takes_any && runs != picked.runs)) continue;
          auto timed_as = mpi_timing(row.operation, runs).timed_as;
          if (is_exchange(row.operation) && timed_as == mpi::Algorithm::linear) continue;
          auto schedule = mpi_schedule(row.operation, timed_as, testing::wiring_of(1, n));
          EXPECT_EQ(find_schedule_error(schedule).value_or("none"), "none")
              << row.name << ' ' << mpi::traits_of(runs).name << " of " << n;
        }
      }
}

TEST(MpiSchedules, SayWhatATimeIsThatIsAnothersOnly) {
  EXPECT_EQ(mpi_timing(Operation::all_reduce, mpi::Algorithm::rabenseifner).time_is, "");
  EXPECT_EQ(mpi_timing(Operation::broadcast, mpi::Algorithm::pipeline).timed_as, mpi::Algorithm::chain);
  EXPECT_EQ(mpi_timing(Operation::broadcast, mpi::Algorithm::pipeline).time_is, "");  // without segments
  EXPECT_NE(mpi_timing(Operation::reduce_scatter, mpi::Algorithm::butterfly).time_is, "");
}

// 2,048 ranks, 600 bytes: a reduce, then a broadcast, and the reduce's rule names an in-order binary tree.
TEST(MpiSchedules, OneInTwoSaysItOfEither) {
  EXPECT_EQ(mpi::choose(Operation::all_reduce, 2048, Bytes(600)).runs, mpi::Algorithm::nonoverlapping);
  EXPECT_EQ(mpi_time_is(Operation::all_reduce, 2048, Bytes(600)),
            mpi_timing(Operation::reduce, mpi::Algorithm::in_order_binary).time_is);
  EXPECT_EQ(mpi_time_is(Operation::all_reduce, 2048, Bytes(100)), "");
}

TEST(MpiSchedules, AnAllToAllOfTooManyIsRefused) {
  EXPECT_THROW(mpi_schedule(Operation::all_to_all, mpi::Algorithm::pairwise, testing::wiring_of(1, 1025)),
               InputError);
}

}  // namespace
}  // namespace ddpsim
