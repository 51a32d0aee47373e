#include <gtest/gtest.h>

#include "tests/calibrate/tables.hpp"

namespace ddpsim::calibrate {
namespace {

using namespace literals;

constexpr const char* kNcclColumns =
    "size_B,count_elements,dtype,redop,oop_time_us,oop_algbw_GBps,oop_busbw_GBps,oop_error,ip_time_us,ip_"
    "algbw_GBps,"
    "ip_busbw_GBps,ip_error\n";

TEST(ColumnTable, NcclTestsColumns) {
  auto table =
      read_one(std::string("# world_size: 8\n# nodes: 1\n# nccl_version: 2.26.2\n# hardware: a note\n") +
               kNcclColumns +
               "0,0,float,sum,4.00,0.00,0.00,0,4.00,0.00,0.00,0\n"
               "8,2,float,sum,13.67,0.00,0.00,0,13.03,0.00,0.00,0\n"
               "65536,16384,float,sum,19.54,3.35,5.87,2e-07,18.85,3.48,6.08,0\n"
               "1048576,262144,float,sum,27.37,38.31,67.04,0,26.93,38.94,68.14,0\n");
  EXPECT_EQ(table.ranks, 8);
  EXPECT_EQ(table.nodes, 1);
  EXPECT_EQ(table.nccl_version, "2.26.2");
  EXPECT_EQ(table.data_type, "float");
  ASSERT_EQ(table.rows.size(), 3U);
  EXPECT_DOUBLE_EQ(table.rows[2].out_of_place.value(), 27.37e-6);
  EXPECT_DOUBLE_EQ(table.rows[2].in_place.value().value(), 26.93e-6);
  EXPECT_EQ(table.rows[2].span.line, 9);
}

struct Spelling {
  const char* header;
  const char* size;
  const char* time;
};

class Spellings : public ::testing::TestWithParam<Spelling> {};
INSTANTIATE_TEST_SUITE_P(All, Spellings,
                         ::testing::Values(Spelling{"bytes,time_us", "1048576", "250"},
                                           Spelling{"size,time_ms", "1048576", "0.25"},
                                           Spelling{"size_B,time_s", "1048576", "0.00025"},
                                           Spelling{"size_bytes,latency_us", "1048576", "250"},
                                           Spelling{"message_size_bytes,latency_ms", "1048576", "0.25"},
                                           Spelling{"size_KiB,latency_s", "1024", "2.5e-4"},
                                           Spelling{"size_MiB,time_us", "1", "250"},
                                           Spelling{"size,time\n(MiB),(ms)", "1", "0.25"},
                                           Spelling{"size,latency\nKiB,us", "1024", "250"},
                                           Spelling{"bytes,time_us\n(B),(us)", "1048576", "250"}));

// 1 MiB in 250 us, however it is written.
TEST_P(Spellings, OfAMebibyteIn250us) {
  const auto& [header, size, time] = GetParam();
  auto table = read_one(std::string(header) + "\n" + size + "," + time + "\n" + size + "0," + time + "\n" +
                        size + "00," + time + "\n");
  ASSERT_EQ(table.rows.size(), 3U);
  EXPECT_EQ(table.rows[0].bytes, 1048576_B);
  EXPECT_DOUBLE_EQ(table.rows[0].out_of_place.value(), 250e-6);
  EXPECT_FALSE(table.rows[0].in_place);
  EXPECT_EQ(table.data_type, "");
}

TEST(ColumnTable, OneTableANumberOfGpusAndADataType) {
  auto tables = read_all(
      "num_gpus,dtype,nodes,bytes,time_us,note\n"
      "2,float32,1,1024,10,a\n2,float32,1,2048,11,a\n2,float32,1,4096,12,a\n"
      "4,float16,2,4096,24,a\n4,float16,2,2048,22,a\n4,float16,2,1024,20,b\n",
      "sweep.csv");
  ASSERT_EQ(tables.size(), 2U);
  EXPECT_EQ(tables[0].title, "sweep.csv, 2 GPUs, 1 node, float");
  EXPECT_EQ(tables[1].title, "sweep.csv, 4 GPUs, 2 nodes, half");
  EXPECT_EQ(tables[1].rows[0].bytes, 1024_B);
  EXPECT_DOUBLE_EQ(tables[1].rows[0].out_of_place.value(), 20e-6);
}

TEST(ColumnTable, TheProjectsOwnFormat) {
  auto table = read_one(
      "# ddpsim-allreduce: 1\n# world_size: 8\nbytes,time_s,std_s\n4,0.0029,0.0001\n8,0.003,0\n"
      "1e6,0.0028,0\n");
  EXPECT_EQ(table.ranks, 8);
  ASSERT_EQ(table.rows.size(), 3U);
  EXPECT_EQ(table.rows[2].bytes, Bytes(1e6));
  EXPECT_EQ(table.rows[2].out_of_place, Seconds(0.0028));  // as measured, not as repaired
  EXPECT_EQ(table.rows[2].span.line, 6);
}

}  // namespace
}  // namespace ddpsim::calibrate
