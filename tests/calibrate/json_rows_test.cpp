#include <gtest/gtest.h>

#include "sim/calibrate/readers.hpp"

#include "tests/calibrate/tables.hpp"

namespace ddpsim::calibrate {
namespace {

using namespace literals;

TEST(JsonRows, AnArray) {
  auto table = read_one(
      "[{\"bytes\": 1024, \"time_us\": 10.5},\n"
      " {\"time_us\": \"11\", \"bytes\": 2048},\n"
      " {\"bytes\": 4.096e3, \"time_us\": 12}]\n");
  ASSERT_EQ(table.rows.size(), 3U);
  EXPECT_DOUBLE_EQ(table.rows[0].out_of_place.value(), 10.5e-6);
  EXPECT_EQ(table.rows[1].bytes, 2048_B);
  EXPECT_EQ(table.rows[1].span.line, 2);
  EXPECT_EQ(table.rows[1].span.column, 29);
  EXPECT_EQ(table.rows[2].bytes, 4096_B);
}

TEST(JsonRows, AnObjectWithWhatHoldsForAll) {
  auto table = read_one(
      R"({"world_size": 8, "nodes": 2, "nccl_version": "2.27.3", "data_type": "float32", "source": "a \"note\"",
          "rows": [{"size_MiB": 1, "latency_ms": 0.25}, {"size_MiB": 2, "latency_ms": 0.3},
                   {"size_MiB": 4, "latency_ms": 0.4}]})");
  EXPECT_EQ(table.ranks, 8);
  EXPECT_EQ(table.nodes, 2);
  EXPECT_EQ(table.nccl_version, "2.27.3");
  EXPECT_EQ(table.data_type, "float");
  EXPECT_EQ(table.rows[0].bytes, 1_MiB);
  EXPECT_DOUBLE_EQ(table.rows[0].out_of_place.value(), 250e-6);
}

}  // namespace
}  // namespace ddpsim::calibrate
