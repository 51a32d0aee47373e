// The layout of nccl-tests' src/util.cu, version 2; the numbers are made up.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include "tests/calibrate/tables.hpp"

namespace ddpsim::calibrate {
namespace {

using namespace literals;

// bytes / us is MB/s; on 4 GPUs busbw is 1.5 times as much.
std::string row(double bytes, double time, const std::string& redop = "sum",
                const std::string& wrong = "0.000000") {
  double algbw = bytes * 1e-3 / time;
  return fmt::format(R"({{"size":{:.0f},"count":256,"type":"float","redop":"{}","root":"    -1",)"
                     R"("out_of_place":{{"time":{:.6f},"alg_bw":{:.6f},"bus_bw":{:.6f},"nwrong":{}}},)"
                     R"("in_place":{{"time":{:.6f},"alg_bw":{:.6f},"bus_bw":{:.6f},"nwrong":null}},)"
                     R"("actual_iterations":20,"experiment_name":"AllReduce"}})",
                     bytes, redop, time, algbw, 1.5 * algbw, wrong, time / 2, 2 * algbw, 3 * algbw);
}

std::string file(const std::string& rows, const std::string& program = "./build/all_reduce_perf") {
  return fmt::format(
      R"({{"version":2,"start_time":"2025-06-01 12:00:00","args":["{}","-b","1K"],"env":["A=\"b\""],"nccl_version":22703,)"
      R"("config":{{"nthreads":1,"ngpus":2,"devices":[{{"rank":0,"hostname":"a"}},{{"rank":2,"hostname":"b"}}]}},)"
      "\n\"results\":[{}],\n"
      R"("out_of_bounds":{{"count":0,"okay":"true"}},"average_bus_bandwidth":{{"bandwidth":1.0,"okay":"unchecked"}}}})",
      program, rows);
}

const std::string kRows = row(1024, 10) + ",\n" + row(65536, 20) + ",\n" + row(4194304, 200);

TEST(NcclTestsJson, Whole) {
  auto table = read_one(file(row(0, 5) + ",\n" + kRows));
  EXPECT_EQ(table.ranks, 4);  // two processes of two GPUs each
  EXPECT_EQ(table.nodes, 2);
  EXPECT_EQ(table.nccl_version, "2.27.3");
  EXPECT_EQ(table.data_type, "float");
  ASSERT_EQ(table.rows.size(), 3U);
  EXPECT_EQ(table.rows[1].bytes, 65536_B);
  EXPECT_DOUBLE_EQ(table.rows[1].out_of_place.value(), 20e-6);
  EXPECT_DOUBLE_EQ(table.rows[1].in_place.value().value(), 10e-6);
  EXPECT_EQ(table.rows[1].span.line, 4);
  EXPECT_EQ(table.rows[1].span.column, 9);
}

TEST(NcclTestsJson, OneTableAReduction) {
  auto tables = read_all(
      file(kRows + "," + row(1024, 11, "max") + "," + row(2048, 12, "max") + "," + row(4096, 13, "max")));
  ASSERT_EQ(tables.size(), 2U);
  EXPECT_EQ(tables[0].title, "t, 4 GPUs, float");
  EXPECT_EQ(tables[1].title, "t, 4 GPUs, float, max");
}

}  // namespace
}  // namespace ddpsim::calibrate
