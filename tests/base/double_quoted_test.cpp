#include "sim/base/double_quoted.hpp"

#include <gtest/gtest.h>

namespace ddpsim {
namespace {

TEST(DoubleQuoted, QuotesAndBackslashes) {
  EXPECT_EQ(double_quoted("plain: # text"), R"("plain: # text")");
  EXPECT_EQ(double_quoted(R"(a "b" \ c)"), R"("a \"b\" \\ c")");
  EXPECT_EQ(double_quoted(""), R"("")");
}

}  // namespace
}  // namespace ddpsim
