#include "sim/base/counted.hpp"

#include <gtest/gtest.h>

namespace ddpsim {
namespace {

TEST(Counted, OneAndMore) {
  EXPECT_EQ(counted(1, "node"), "1 node");
  EXPECT_EQ(counted(0, "node"), "0 nodes");
  EXPECT_EQ(counted(std::size_t{2}, "GPU"), "2 GPUs");
  EXPECT_EQ(counted(1, "micro-batch"), "1 micro-batch");
  EXPECT_EQ(counted(8, "micro-batch"), "8 micro-batches");
}

}  // namespace
}  // namespace ddpsim
