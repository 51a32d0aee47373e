#include <gtest/gtest.h>

#include "tests/config/text.hpp"

namespace ddpsim::config {
namespace {

using testing::parse_error;

TEST(YamlErrors, Syntax) {
  EXPECT_EQ(
      parse_error("a: 1\nb: [1, 2\n"),
      "a.yaml:2:1: not valid YAML: end of sequence flow not found; check indentation, colons and brackets");
  EXPECT_EQ(parse_error("a: b: c\n"),
            "a.yaml:1:5: not valid YAML: illegal map value; check indentation, colons and brackets");
  EXPECT_EQ(parse_error("a: 1\n  b: 2\n"),
            "a.yaml:2:4: not valid YAML: illegal map value; check indentation, colons and brackets");
  EXPECT_EQ(parse_error("a: @x\n"),
            "a.yaml:1:4: not valid YAML: unknown token; check indentation, colons and brackets");
}

TEST(YamlErrors, QuoteNeverClosed) {
  for (std::string end : {"", "\n", "\r\n\n \n"})
    EXPECT_EQ(parse_error("a: 'x" + end),
              "a.yaml:1:6: not valid YAML: illegal EOF in scalar; check indentation, colons and brackets");
  EXPECT_EQ(parse_error("a: \"x\nb: 1\n"),
            "a.yaml:2:5: not valid YAML: illegal EOF in scalar; check indentation, colons and brackets");
}

TEST(YamlErrors, Tabs) {
  EXPECT_EQ(parse_error("a:\n\tb: 1\n"),
            "a.yaml:2:3: not valid YAML: illegal map value; indent with blanks; YAML takes no tabs there");
  EXPECT_EQ(parse_error("a: 1\n \tb: 2\n"),
            "a.yaml:2:4: not valid YAML: illegal map value; indent with blanks; YAML takes no tabs there");
  EXPECT_EQ(testing::parse("a:\t1\t# tabs between words are blanks\n").find("a")->value.scalar, "1");
}

TEST(YamlErrors, DuplicateKeys) {
  EXPECT_EQ(parse_error("a: 1\nb: 2\na: 3\n"),
            "a.yaml:3:1: key 'a' appears twice; the first one is on line 1; remove one");
  EXPECT_EQ(parse_error("x:\n  y:\n    cap: 1\n    cap: 1\n"),
            "a.yaml:4:5-7: key 'cap' appears twice; the first one is on line 3; remove one");
  EXPECT_EQ(parse_error("x: {a: 1, b: 2, 'a': 3}\n"),
            "a.yaml:1:17: key 'a' appears twice; the first one is on line 1; remove one");
  EXPECT_EQ(parse_error("x: [{a: 1}, {a: 1, a: 1}]\n"),
            "a.yaml:1:20: key 'a' appears twice; the first one is on line 1; remove one");
}

TEST(YamlErrors, KeysThatAreNoText) {
  for (std::string key : {"[a]", "{a: b}", "~"})
    EXPECT_EQ(parse_error(key + ": 1\n"), "a.yaml:1:1: a key must be plain text; write 'key: value'");
}

TEST(YamlErrors, Refused) {
  EXPECT_EQ(parse_error("a: *nope\n"),
            "a.yaml:1:4: not valid YAML: the referenced anchor is not defined; check indentation, colons and "
            "brackets");
  EXPECT_EQ(parse_error("a: 1\n---\nb: 2\n"),
            "a.yaml:3:1: a second document starts here; one document a file");
  // yaml-cpp finds empty documents there without end.
  EXPECT_EQ(
      parse_error(", a\n"),
      "a.yaml:1:1: not valid YAML: no value can start like this; check indentation, colons and brackets");
  EXPECT_EQ(
      parse_error("# a\n--- ,\n"),
      "a.yaml:2:5: not valid YAML: no value can start like this; check indentation, colons and brackets");
}

TEST(YamlErrors, EmptyDocument) {
  for (std::string text : {"# all commented out\n", "---\n", "~\n", "---\n# nothing\n"})
    EXPECT_EQ(parse_error(text),
              "a.yaml: holds no value (expected a scenario); is everything commented out?");
}

TEST(YamlErrors, TheTopIsNoMap) {
  EXPECT_EQ(parse_error("- 1\n- 2\n"),
            "a.yaml:1:1: a scenario is a map of keys, not a list; is it the right file?");
  EXPECT_EQ(parse_error("hello\n"),
            "a.yaml:1:1-5: a scenario is a map of keys, not a single value; is it the right file?");
}

}  // namespace
}  // namespace ddpsim::config
