// PowerSGD, compiled graphs and process groups that take turns, as programs derived by hand.
#include <gtest/gtest.h>

#include "sim/program/data_parallel.hpp"
#include "sim/program/power_sgd.hpp"

namespace ddpsim::testing {
namespace {

constexpr double kMiB = 0x1p20;

// Gradients of 1 MiB, ready one second after the other; forward and optimizer take none.
LayerTrace gradients(int n) {
  LayerTrace trace;
  for (int i = 0; i < n; ++i) {
    Gradient gradient;
    gradient.name = "g" + std::to_string(i);
    gradient.elements = 256 * 1024;
    gradient.ready = Seconds(i + 1);
    trace.gradients.push_back(gradient);
  }
  trace.registration_order = reverse_of_arrival(static_cast<std::size_t>(n));
  return trace;
}

std::string text_of(const LayerTrace& trace, const DdpOptions& options, const Overheads& overheads = {}) {
  auto plan = make_reduction_plan(trace, Reducer::ddp, options);
  return program_text(data_parallel_program(trace, plan, overheads).program);
}

DdpOptions cap(double mib) {
  DdpOptions options;
  options.bucket_cap = Bytes(mib * kMiB);
  return options;
}

// Two gradients a bucket: a matrix of 512 x 512 at rank 4, 8 KiB of P and of Q, and a vector. Backward goes
// on when the bucket is reduced. The second bucket has no vector, and its first step is left out.
TEST(DdpExtras, PowerSgdStopsTheBackwardPass) {
  auto trace = gradients(3);
  auto options = cap(2);
  options.comm_hook = CommHook::power_sgd;
  options.power_sgd.rank = 4;
  options.parameter_rows = {512, 256 * 1024, 512};
  EXPECT_EQ(text_of(trace, options),
            "0 backward 0: 2 s\n"
            "1 all_reduce 0: all_reduce of 1 MiB on 0, after 0\n"
            "2 all_reduce 0: all_reduce of 8 KiB on 0, after 1 0\n"
            "3 all_reduce 0: all_reduce of 8 KiB on 0, after 2 0\n"
            "4 backward 0: 1 s, after 3\n"
            "5 all_reduce 1: all_reduce of 8 KiB on 0, after 4\n"
            "6 all_reduce 1: all_reduce of 8 KiB on 0, after 5 4\n"
            "7 optimizer 0: 0 s, after 6\n");
}

// A matrix of 512 x 512 at rank 2, 1 MiB, and a vector of 1 MiB at 1 MiB/s, so that an element takes 1/262144
// s, in units of 512 elements; a launch takes 1000 s, which counts kernels. One unit is 512/262144 s = 1/512.
//   before: += error 3 x 1024, clone 2 x 1024; cat 2 x 512; Q orthogonal 15; M Q 512 + 4  -> 3 + 8 kernels +
//   1 unpack: division 2 x 512, copy 2 x 512 between: P orthogonal 15, M^T P 516 after: Q divided 2 x 2, P
//   Q^T 516, error 3 x 1024
TEST(DdpExtras, PowerSgdComputes) {
  auto trace = gradients(2);
  auto options = cap(2);
  options.comm_hook = CommHook::power_sgd;
  options.power_sgd.rank = 2;
  options.parameter_rows = {512, 256 * 1024};
  Overheads overheads;
  overheads.pass_bandwidth = BytesPerSecond(kMiB);
  overheads.pass_launch = Seconds(1000);
  auto plan = make_reduction_plan(trace, Reducer::ddp, options);
  auto times = compression_times(plan.buckets[0], *plan.low_rank, overheads);
  EXPECT_NEAR(times.before.value(), 12e3 + (5 * 1024 + 2 * 512 + 15 + 516) / 512., 1e-9);
  EXPECT_NEAR(times.unpack.value(), 2e3 + (4 * 512) / 512., 1e-9);
  EXPECT_NEAR(times.between.value(), 9e3 + (15 + 516) / 512., 1e-9);
  EXPECT_NEAR(times.after.value(), 3e3 + (4 + 516 + 3 * 1024) / 512., 1e-9);
  // Products of 2 x 512 x 512 x 2 operations, where that takes longer than what they move: one second.
  overheads.product_rate = FlopsPerSecond(2 * 512 * 512 * 2);
  overheads.pass_launch = {};
  auto slower = compression_times(plan.buckets[0], *plan.low_rank, overheads);
  EXPECT_NEAR(slower.between.value(), 15 / 512. + 516 / 512., 1e-9);
  overheads.product_rate = FlopsPerSecond(512 * 512);
  slower = compression_times(plan.buckets[0], *plan.low_rank, overheads);
  EXPECT_NEAR(slower.between.value(), 15 / 512. + 4, 1e-9);
  // Without feedback of errors nothing is added, kept or taken off.
  options.power_sgd.error_feedback = false;
  plan = make_reduction_plan(trace, Reducer::ddp, options);
  overheads.product_rate.reset();
  times = compression_times(plan.buckets[0], *plan.low_rank, overheads);
  EXPECT_NEAR(times.before.value(), (2 * 512 + 15 + 516) / 512., 1e-9);
  EXPECT_NEAR(times.after.value(), (4 + 516) / 512., 1e-9);
}

// The chain with its compute, of one matrix: orthogonalisation and products where the hook has them.
TEST(DdpExtras, PowerSgdHasItsPlaces) {
  auto trace = gradients(1);
  auto options = cap(1);
  options.comm_hook = CommHook::power_sgd;
  options.power_sgd.error_feedback = false;
  options.parameter_rows = {512};
  Overheads overheads;
  overheads.compresses = true;
  overheads.launch = Seconds(0.5);
  overheads.first_start = Seconds(0.25);
  overheads.pass_bandwidth = BytesPerSecond(2048);  // 512 elements a second
  // At rank 1: orthogonal 3 s, a product 514 s, Q's division 2 s.
  EXPECT_EQ(text_of(trace, options, overheads),
            "0 backward 0: 1 s\n"
            "1 compress 0: 517 s\n"
            "2 launch 0: 500 ms\n"
            "3 all_reduce 0: all_reduce of 2 KiB on 0 250 ms, after 2\n"
            "4 compress 0: 517 s, after 3\n"
            "5 launch 0: 500 ms\n"
            "6 all_reduce 0: all_reduce of 2 KiB on 0, after 5\n"
            "7 compress 0: 516 s, after 6\n"
            "8 optimizer 0: 0 s\n");
  // Before it starts the bucket is divided, one pass over 1 MiB, and all-reduced.
  options.iteration = DdpIteration::first;
  overheads.launch = overheads.first_start = {};
  EXPECT_EQ(text_of(trace, options, overheads),
            "0 backward 0: 1 s\n"
            "1 copy_in 0: 1024 s\n"
            "2 all_reduce 0: all_reduce of 1 MiB on 0, after 1\n"
            "3 optimizer 0: 0 s, after 2\n");
}

// Four gradients of 1 MiB in buckets of two. Compiled, the first subgraph is the first gradient alone (1
// MiB), the next one two of them, and the last: the first bucket is complete with the second subgraph, a
// second later than without.
TEST(DdpExtras, ACompiledGraphArrivesInPieces) {
  auto options = cap(2);
  EXPECT_EQ(text_of(gradients(4), options),
            "0 backward 0: 2 s\n"
            "1 all_reduce 0: all_reduce of 2 MiB on 0, after 0\n"
            "2 backward 0: 2 s\n"
            "3 all_reduce 1: all_reduce of 2 MiB on 0, after 2\n"
            "4 optimizer 0: 0 s, after 1 3\n");
  options.compiled = true;
  EXPECT_EQ(text_of(gradients(4), options),
            "0 backward 0: 3 s\n"
            "1 all_reduce 0: all_reduce of 2 MiB on 0, after 0\n"
            "2 backward 0: 1 s\n"
            "3 all_reduce 1: all_reduce of 2 MiB on 0, after 2\n"
            "4 optimizer 0: 0 s, after 1 3\n");
}

// Hooks run when the subgraph is over, one gradient after the other; the bucket is launched by its own last.
TEST(DdpExtras, HooksOfACompiledGraphComeTogether) {
  auto options = cap(2);
  options.compiled = true;
  Overheads overheads;
  overheads.gradient = Seconds(0.125);
  EXPECT_EQ(text_of(gradients(4), options, overheads),
            "0 backward 0: 1 s\n"
            "1 launch 0: 125 ms\n"
            "2 backward 0: 2 s\n"
            "3 launch 0: 125 ms\n"
            "4 all_reduce 0: all_reduce of 2 MiB on 0, after 3\n"
            "5 launch 1: 125 ms\n"
            "6 backward 0: 1 s\n"
            "7 launch 1: 125 ms\n"
            "8 all_reduce 1: all_reduce of 2 MiB on 0, after 7\n"
            "9 optimizer 0: 0 s, after 4 8\n");
}

// Buckets go to two communicators by turns, the bitmap, too.
TEST(DdpExtras, ProcessGroupsTakeTurns) {
  auto options = cap(1);
  options.torch = {2, 4};
  options.process_groups = 2;
  options.find_unused_parameters = true;
  auto trace = gradients(2);
  auto plan = make_reduction_plan(trace, Reducer::ddp, options);
  auto program = data_parallel_program(trace, plan, {}).program;
  EXPECT_EQ(program.communicators, 2);
  EXPECT_EQ(program_text(program),
            "0 backward 0: 1 s\n"
            "1 all_reduce 0: all_reduce of 1 MiB on 0, after 0\n"
            "2 backward 0: 1 s\n"
            "3 all_reduce 1: all_reduce of 1 MiB on 1, after 2\n"
            "4 used_parameter_bitmap 0: all_reduce of 8 B on 0, after 2\n"
            "5 optimizer 0: 0 s, after 1 3 4\n");
}

}  // namespace
}  // namespace ddpsim::testing
