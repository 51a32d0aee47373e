#include "sim/nccl/names.hpp"

#include <gtest/gtest.h>

namespace ddpsim::nccl {
namespace {

TEST(Names, AreThoseOfNccl) {
  EXPECT_EQ(name(Version::v2_21_5), "2.21.5");
  EXPECT_EQ(name(Version::v2_30_7), "2.30.7");
  EXPECT_EQ(name(Gpu::volta), "volta");
  EXPECT_EQ(name(Gpu::blackwell), "blackwell");
  EXPECT_EQ(name(Algorithm::tree), "tree");
  EXPECT_EQ(name(Algorithm::nvls_tree), "nvls_tree");
  EXPECT_EQ(name(Protocol::ll128), "ll128");
}

}  // namespace
}  // namespace ddpsim::nccl
