// The profiles of aiconfigurator and of Galvatron.
#include <gtest/gtest.h>

#include "tests/calibrate/tables.hpp"

namespace ddpsim::calibrate {
namespace {

using namespace literals;

constexpr const char* kColumns =
    "framework,version,device,op_name,kernel_source,nccl_dtype,num_gpus,message_size,latency\n";

std::string row(const std::string& op, const std::string& type_gpus_size_latency,
                const std::string& version = "2.27.3") {
  return "TRTLLM," + version + ",NVIDIA L40S," + op + ",NCCL," + type_gpus_size_latency + "\n";
}

// Sizes are elements of 2 bytes (half) or 1 (int8), times are ms.
TEST(Aiconfigurator, OneTableADataTypeAndNumberOfGpus) {
  std::string text = std::string("# nodes: 1\n") + kColumns;
  for (const auto* size : {"256,0.005", "512,0.006", "1024,0.007"})
    text += row("all_reduce", std::string("half,2,") + size) + row("alltoall", std::string("int8,8,") + size);
  auto tables = read_all(text, "profile.csv");
  ASSERT_EQ(tables.size(), 2U);
  EXPECT_EQ(tables[0].title, "profile.csv, 2 GPUs, all_reduce, half");
  EXPECT_EQ(tables[0].operations, Operations{Operation::all_reduce});
  EXPECT_EQ(tables[0].rows[0].bytes, 512_B);
  EXPECT_DOUBLE_EQ(tables[0].rows[0].out_of_place.value(), 5e-6);
  EXPECT_EQ(tables[0].nccl_version, "2.27.3");
  EXPECT_EQ(tables[0].nodes, 1);
  EXPECT_EQ(tables[1].title, "profile.csv, 8 GPUs, all_to_all, int8");
  EXPECT_EQ(tables[1].rows[0].bytes, 256_B);
}

TEST(Aiconfigurator, SizesThatComeAgainAreAnotherRun) {
  std::string text = kColumns;
  for (const auto* run : {"0.005", "0.006"})
    for (const auto* size : {"256,", "512,", "1024,"})
      text += row("all_reduce", std::string("half,2,") + size + run);
  auto tables = read_all(text);
  ASSERT_EQ(tables.size(), 2U);
  EXPECT_EQ(tables[0].title, "t, 2 GPUs, half, run 1");
  EXPECT_EQ(tables[1].title, "t, 2 GPUs, half, run 2");
  EXPECT_DOUBLE_EQ(tables[1].rows[0].out_of_place.value(), 6e-6);
}

TEST(Galvatron, OneTableANumberOfGpus) {
  auto tables = read_all(R"({
    "allreduce_size_8_1MB_time": 0.07895,
    "allreduce_size_8_2MB_time": 0.1094,
    "allreduce_size_8_1024MB_time": 8.1409,
    "allreduce_size_4_1MB_time": 0.0798, "allreduce_size_4_2MB_time": 0.0911, "allreduce_size_4_4MB_time": 0.1091,
    "all2all_size_8_1MB_time": 0.1124,
    "nodes": 1,
    "source": "a note"
})",
                         "sp.json");
  ASSERT_EQ(tables.size(), 2U);
  EXPECT_EQ(tables[0].title, "sp.json, 8 GPUs");
  EXPECT_EQ(tables[0].nodes, 1);
  EXPECT_EQ(tables[0].rows[2].bytes, 1073741824_B);
  EXPECT_DOUBLE_EQ(tables[0].rows[2].out_of_place.value(), 8.1409e-3);
  EXPECT_EQ(tables[0].rows[2].span.line, 4);
  EXPECT_EQ(tables[0].rows[2].span.column, 6);
  EXPECT_EQ(tables[1].ranks, 4);
}

}  // namespace
}  // namespace ddpsim::calibrate
