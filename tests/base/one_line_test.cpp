#include "sim/base/one_line.hpp"

#include <gtest/gtest.h>

namespace ddpsim {
namespace {

TEST(OneLine, StandsOnOneLineWithoutBlanksAround) {
  EXPECT_EQ(one_line("  Intel(R) Xeon(R)\tCPU \r\n"), "Intel(R) Xeon(R) CPU");
  EXPECT_EQ(one_line("a\nb"), "a b");
  EXPECT_EQ(one_line(" \n\t "), "");
  EXPECT_EQ(one_line(""), "");
}

}  // namespace
}  // namespace ddpsim
