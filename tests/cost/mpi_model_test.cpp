// What Open MPI's collectives take, against the formulas of the alpha-beta model, on eight hosts at one
// switch: a = 2 x 2.5 us, B = 12.5 GB/s, each way.
#include "sim/cost/mpi_model.hpp"

#include <numeric>

#include <gtest/gtest.h>

#include "sim/text/topology_file.hpp"

namespace ddpsim {
namespace {

using namespace ddpsim::literals;

constexpr double a = 5e-6, B = 12.5e9;

MpiModel model_on(const std::string& topology, int ranks) {
  auto read = read_topology(std::string(DDPSIM_SOURCE_DIR) + "/" + topology);
  std::shared_ptr<const Cluster> cluster = read->build(ranks);
  std::vector<int> gpus(static_cast<std::size_t>(ranks));
  std::iota(gpus.begin(), gpus.end(), 0);
  auto host = mpi_host(*read, *cluster, gpus);
  return MpiModel(cluster, gpus, host);
}

MpiModel hosts(int ranks) {
  return model_on("examples/mpi/eight-hosts.yaml", ranks);
}

void expect(const MpiModel& model, Operation operation, double bytes, std::string_view algorithm,
            double time) {
  auto choice = model.choose(Bytes(bytes), operation);
  ASSERT_TRUE(choice.algorithm);
  EXPECT_EQ(mpi::traits_of(choice.algorithm->runs).name, algorithm);
  EXPECT_NEAR(choice.time.value() / time, 1, 1e-9) << operation_name(operation) << ' ' << bytes;
}

TEST(MpiModel, AMessageTakesALatencyAndItsBytes) {
  auto choice = hosts(8).choose(1_MiB, Operation::send_recv);
  EXPECT_FALSE(choice.algorithm);
  EXPECT_DOUBLE_EQ(choice.time.value(), a + 1048576 / B);
}

// 8 ranks. Recursive doubling below 8 KiB: log2 8 (a + m/B). Rabenseifner from there: 2 log2 8 a + 2 7/8 m/B.
TEST(MpiModel, AllReduces) {
  auto model = hosts(8);
  expect(model, Operation::all_reduce, 4096, "recursive_doubling", 3 * (a + 4096 / B));
  expect(model, Operation::all_reduce, 8192, "rabenseifner", 6 * a + 1.75 * 8192 / B);
  expect(model, Operation::all_reduce, 1e8, "rabenseifner", 6 * a + 1.75 * 1e8 / B);
}

// 3 ranks, 32 KiB: a ring, 2 (n-1) (a + m/(n B)).
TEST(MpiModel, ARing) {
  expect(hosts(3), Operation::all_reduce, 32768, "ring", 4 * (a + 32768 / 3.0 / B));
  expect(hosts(3), Operation::all_reduce, 131072, "segmented_ring", 4 * (a + 131072 / 3.0 / B));
}

TEST(MpiModel, OtherOperations) {
  auto model = hosts(8);
  double m = 1e6;
  expect(model, Operation::all_gather, m, "recursive_doubling", 3 * a + 7.0 / 8 * m / B);
  // 125 kB a rank, below 512 KiB: halves, quarters, eighths.
  expect(model, Operation::reduce_scatter, m, "recursive_halving", 3 * a + 7.0 / 8 * m / B);
  // All of it to seven over one link.
  expect(model, Operation::broadcast, m, "linear", a + 7 * m / B);
  expect(model, Operation::reduce, m, "binomial", 3 * (a + m / B));
  expect(model, Operation::gather, m, "binomial", 3 * a + 7.0 / 8 * m / B);
  // 125 kB a rank, from 16 KiB on: each its part from rank 0, all at once.
  expect(model, Operation::scatter, m, "linear_nb", a + 7.0 / 8 * m / B);
  expect(model, Operation::all_to_all, m, "linear_sync", a + 7.0 / 8 * m / B);
}

// 4 MB a rank: MPI_Reduce_scatter_block's linear one reduces (binomial) and then scatters (linear).
TEST(MpiModel, InTwo) {
  double m = 8 * 4e6;
  expect(hosts(8), Operation::reduce_scatter, m, "linear", 3 * (a + m / B) + a + 7.0 / 8 * m / B);
}

// 6 ranks: Bruck's all-gather takes ceil(log2 6) = 3 rounds, of 1, 2 and 2 blocks.
TEST(MpiModel, NoPowerOfTwo) {
  expect(hosts(6), Operation::all_gather, 6e6, "bruck", 3 * a + 5e6 / B);
}

// On GPUs sums are formed on hosts. 8 of a DGX H100, 8 MiB: copies of m there and back at 46.8 GB/s, and
// Rabenseifner's 2 x 7/8 m at 12 GB/s after six messages of half a microsecond.
TEST(MpiModel, ReducesOnHosts) {
  double m = 8 << 20;
  expect(model_on("topologies/dgx-h100.yaml", 8), Operation::all_reduce, m, "rabenseifner",
         2 * m / 46.8e9 + 6 * 0.5e-6 + 1.75 * m / 12e9);
  // An eighth goes back: 1 MiB a rank, linear: binomial (3 rounds), then a scatter of which each process
  // takes in its part at once.
  expect(model_on("topologies/dgx-h100.yaml", 8), Operation::reduce_scatter, m, "linear",
         1.125 * m / 46.8e9 + 3 * (0.5e-6 + m / 12e9) + 0.5e-6 + m / 8 / 12e9);
}

// Other operations go from GPU to GPU: 3 rounds over NVLink of 1 us and 450 GB/s each way.
TEST(MpiModel, MovesBetweenGpus) {
  double m = 8 << 20;
  auto model = model_on("topologies/dgx-h100.yaml", 8);
  auto pair = model.choose(Bytes(0), Operation::send_recv).time.value();
  expect(model, Operation::all_gather, m, "recursive_doubling",
         3 * pair + 7.0 / 8 * (model.choose(Bytes(m), Operation::send_recv).time.value() - pair));
}

// A what-if scales what one of no bytes takes by the algorithm that is picked, and the rest.
TEST(MpiModel, Scaled) {
  auto model = hosts(8);
  auto time = [&](double latency, double growing) {
    return model.scaled({latency, growing})->time(Bytes(8192)).value();
  };
  EXPECT_NEAR(time(0, 1), 1.75 * 8192 / B, 1e-12);
  EXPECT_NEAR(time(2, 0), 12 * a, 1e-12);
}

}  // namespace
}  // namespace ddpsim
