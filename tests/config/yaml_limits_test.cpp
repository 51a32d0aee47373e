// Texts made to exhaust memory, stack or time end in an error, and soon.
#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/config/text.hpp"

namespace ddpsim::config {
namespace {

using ::testing::HasSubstr;
using testing::parse;
using testing::parse_error;
using ::testing::StartsWith;

std::string repeat(const std::string& text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

// Far above what it takes (under 2 s with sanitizers), far below what an exponential or quadratic walk takes.
class YamlLimits : public ::testing::Test {
 protected:
  void TearDown() override { EXPECT_LT(std::chrono::steady_clock::now() - start_, std::chrono::seconds(20)); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// 64 levels below the top: the top-level map, then its value on level 1, then 63 more.
TEST_F(YamlLimits, SixtyFourLevelsAndNoMore) {
  EXPECT_EQ(parse("a: " + repeat("[", 64) + repeat("]", 64) + "\n").entries.size(), 1U);
  auto text = "a: " + repeat("[", 65) + repeat("]", 65);
  EXPECT_EQ(parse_error(text + "\n"), "a.yaml:1:68: nested deeper than 64 levels; flatten it");
}

TEST_F(YamlLimits, AHundredThousandLevels) {
  constexpr int n = 100'000;
  for (const auto& text :
       {"a: " + repeat("[", n) + repeat("]", n), "a: " + repeat("[", n), "a: " + repeat("{", n),
        "a: " + repeat("{a: ", n), "a:\n" + repeat("- ", n) + "x", "a:\n" + repeat("? ", n) + "x"})
    EXPECT_THAT(parse_error(text + "\n"), HasSubstr(": nested deeper than 64 levels; "));
}

TEST_F(YamlLimits, ManyClosingBrackets) {
  EXPECT_THAT(parse_error("a: " + repeat("]", 100'000)),
              StartsWith("a.yaml:1:4: not valid YAML: illegal flow end; "));
}

TEST_F(YamlLimits, AThousandIndentedLines) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += repeat(" ", i) + "a:\n";
  EXPECT_THAT(parse_error(text), HasSubstr(": nested deeper than 64 levels; "));
}

// Thirty lists of nine aliases each stand for 9^29 values ("billion laughs").
TEST_F(YamlLimits, AliasesThatMultiply) {
  std::string text = "a0: &a0 [x]\n";
  for (int i = 1; i < 30; ++i) {
    auto alias = "*a" + std::to_string(i - 1);
    text +=
        "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + repeat(alias + ", ", 8) + alias + "]\n";
  }
  auto message = parse_error(text);
  EXPECT_THAT(message, HasSubstr(": more than 100000 values; "));
  EXPECT_THAT(message, HasSubstr("; do aliases multiply here?"));
}

TEST_F(YamlLimits, AnAliasOfItself) {
  EXPECT_EQ(parse_error("a: &x [*x]\n"), "a.yaml:1:4: nested deeper than 64 levels; flatten it");
}

std::string keys(int n) {
  std::string text;
  for (int i = 0; i < n; ++i) text += "k" + std::to_string(i) + ": 1\n";
  return text;
}

// With the map itself, 99,999 keys are 100,000 values.
TEST_F(YamlLimits, AHundredThousandValuesAndNoMore) {
  EXPECT_EQ(parse(keys(99'999)).entries.size(), 99'999U);
  EXPECT_THAT(parse_error(keys(100'000)), HasSubstr("a.yaml:100000:9: more than 100000 values; "));
}

}  // namespace
}  // namespace ddpsim::config
