// Which operation a table is of, by format.
#include "sim/calibrate/table_operation.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "tests/calibrate/console_output.hpp"
#include "tests/calibrate/tables.hpp"

namespace ddpsim::calibrate {
namespace {

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

Operations of(const std::string& text) {
  return read_one(text).operations;
}

TEST(TableOperation, Names) {
  for (const auto& [name, operation] : kOperationNames) EXPECT_EQ(operation_named(name), operation) << name;
  for (const char* name : {"AllGather", "all-gather", "./build/all_gather_perf", "all_gather_into_tensor"})
    EXPECT_EQ(operation_named(name), Operation::all_gather) << name;
  EXPECT_EQ(operation_named("reduce_scatter_perf"), Operation::reduce_scatter);
  EXPECT_EQ(operation_named("reduce_perf"), Operation::reduce);
  EXPECT_EQ(operation_named("alltoall_perf"), Operation::all_to_all);
  EXPECT_EQ(operation_named("sendrecv_perf"), Operation::send_recv);
  EXPECT_EQ(operation_named("broadcast_perf"), Operation::broadcast);
  EXPECT_EQ(operation_named("gather_perf"), Operation::gather);
  EXPECT_EQ(operation_named("scatter_perf"), Operation::scatter);
  for (const char* name : {"barrier", "hypercube_perf", ""}) EXPECT_FALSE(operation_named(name)) << name;
}

// nccl-tests' PERFORMANCE.md: 2(n-1)/n, (n-1)/n, 1.
TEST(TableOperation, Factors) {
  EXPECT_DOUBLE_EQ(busbw_factor(Operation::all_reduce, 8), 1.75);
  EXPECT_DOUBLE_EQ(busbw_factor(Operation::reduce_scatter, 8), 0.875);
  EXPECT_DOUBLE_EQ(busbw_factor(Operation::all_to_all, 4), 0.75);
  EXPECT_DOUBLE_EQ(busbw_factor(Operation::gather, 4), 0.75);  // src/gather.cu, src/scatter.cu
  EXPECT_DOUBLE_EQ(busbw_factor(Operation::scatter, 4), 0.75);
  EXPECT_DOUBLE_EQ(busbw_factor(Operation::send_recv, 4), 1);
  EXPECT_DOUBLE_EQ(*ranks_of_factor(Operation::all_reduce, 1.75), 8);
  EXPECT_DOUBLE_EQ(*ranks_of_factor(Operation::all_gather, 0.75), 4);
  EXPECT_FALSE(ranks_of_factor(Operation::broadcast, 1));
  EXPECT_FALSE(ranks_of_factor(Operation::all_reduce, 2));
}

TEST(TableOperation, ConsoleNamesItsProgram) {
  auto rows = replaced(kRows, " sum", "none");
  EXPECT_EQ(of("# Collective test starting: sendrecv_perf\n" + kHeader + rows),
            Operations{Operation::send_recv});
  EXPECT_EQ(of("$ mpirun -np 2 ./build/broadcast_perf -b 1K\n" + kHeader + replaced(rows, "-1 ", " 0 ")),
            Operations{Operation::broadcast});
  // Several in one text, each of the run that follows it.
  auto gather = replaced(replaced(rows, "3.28    3.28", "3.28    1.64"), "20.97   20.97", "20.97   10.49");
  gather = replaced(gather, "3.45    3.45", "3.45    1.73");
  auto tables = read_all("> all_gather_perf\n" + kHeader + gather + "> alltoall_perf\n" + kHeader + gather);
  ASSERT_EQ(tables.size(), 2U);
  EXPECT_EQ(tables[0].operations, Operations{Operation::all_gather});
  EXPECT_EQ(tables[1].operations, Operations{Operation::all_to_all});
  EXPECT_EQ(tables[1].title, "t, all_to_all, float");
  // A list of what was built names none.
  EXPECT_EQ(of("all_reduce_perf all_gather_perf built\n" + kHeader + kRows).front(), Operation::all_reduce);
}

// On two GPUs busbw is algbw for an all-reduce and half of it for a reduce-scatter.
TEST(TableOperation, ConsoleWithoutANameIsToldByItsFigures) {
  EXPECT_EQ(of(kPreamble + kHeader + kRows), Operations{Operation::all_reduce});
  auto half = replaced(replaced(kRow2, "3.28    3.28", "3.28    1.64"), "3.45    3.45", "3.45    1.73") +
              replaced(kRow3, "20.97   20.97", "20.97   10.49");
  auto row1 = replaced(replaced(kRow1, "0.10    0.10", "0.10    0.05"), "0.11    0.11", "0.11    0.06");
  EXPECT_EQ(of(kPreamble + kHeader + row1 + half), Operations{Operation::reduce_scatter});
  EXPECT_EQ(of(kPreamble + kHeader + replaced(row1 + half, " sum", "none")),
            (Operations{Operation::all_gather, Operation::all_to_all}));
  EXPECT_EQ(of(kPreamble + kHeader + replaced(kRows, " sum", "none")), Operations{Operation::send_recv});
  EXPECT_EQ(of(kPreamble + kHeader + replaced(kRows, "-1 ", " 0 ")), Operations{Operation::reduce});
}

// On 4 GPUs 0.75 of 104.9 GB/s.
TEST(TableOperation, JsonNamesItsProgram) {
  std::string rows;
  for (double bytes : {1048576.0, 2097152.0, 4194304.0}) {
    double algbw = bytes * 1e-3 / 10;
    rows +=
        fmt::format(R"({}{{"size":{:.0f},"count":1,"type":"half","redop":"none","root":"    -1",)"
                    R"("out_of_place":{{"time":10.0,"alg_bw":{},"bus_bw":{},"nwrong":0}},"in_place":null}})",
                    rows.empty() ? "" : ",", bytes, algbw, 0.75 * algbw);
  }
  auto file = [&](const std::string& program) {
    return fmt::format(
        R"({{"args":["{}"],"config":{{"nthreads":1,"ngpus":4,"devices":[{{"rank":0,"hostname":"a"}}]}},"results":[{}]}})",
        program, rows);
  };
  EXPECT_EQ(of(file("./build/alltoall_perf")), Operations{Operation::all_to_all});
  EXPECT_EQ(of(file("./mine")), (Operations{Operation::all_gather, Operation::all_to_all}));
}

TEST(TableOperation, ColumnTables) {
  const std::string rows = "262144,40\n1048576,60\n4194304,140\n";
  EXPECT_EQ(of("# operation: all_gather\nbytes,time_us\n" + rows), Operations{Operation::all_gather});
  EXPECT_EQ(of("bytes,time_us\n" + rows), any_operation());  // taken for an all-reduce
  auto tables = read_all(
      "collective,bytes,time_ms\nall_to_all_single,1,1\nall_to_all_single,2,2\n"
      "all_to_all_single,3,3\nreduce_scatter_tensor,1,1\nreduce_scatter_tensor,2,2\n"
      "reduce_scatter_tensor,3,3\n");
  ASSERT_EQ(tables.size(), 2U);
  EXPECT_EQ(tables[0].title, "t, all_to_all");
  EXPECT_EQ(tables[1].operations, Operations{Operation::reduce_scatter});
  EXPECT_EQ(read_one(R"({"operation": "all_gather", "rows": [{"bytes": 1, "time_us": 1},
                         {"bytes": 2, "time_us": 2}, {"bytes": 3, "time_us": 3}]})")
                .operations,
            Operations{Operation::all_gather});
}

}  // namespace
}  // namespace ddpsim::calibrate
