#include "sim/config/overrides.hpp"

#include <gtest/gtest.h>

#include "sim/config/sweep_axes.hpp"

#include "tests/config/text.hpp"

namespace ddpsim::config {
namespace {

using testing::brief_error;
using testing::parse;

// The whole configuration after one override, on one line.
std::string overridden(const std::string& text, const std::string& assignment) {
  Value root = parse(text);
  apply_override(root, assignment);
  return to_flow_text(root);
}

std::string error_of(const std::string& assignment, const std::string& text = "a: {b: 1}\n") {
  return brief_error([&] { overridden(text, assignment); });
}

TEST(Override, ReplacesAValueInItsPlace) {
  EXPECT_EQ(overridden("a: 1\nb: 2\n", "a=3"), "{a: 3, b: 2}");
  EXPECT_EQ(overridden("a: {b: 1, c: 2}\n", "a.b=3"), "{a: {b: 3, c: 2}}");
  EXPECT_EQ(overridden("a: [1, 2]\n", "a=3"), "{a: 3}");
  EXPECT_EQ(overridden("a: {b: 1}\n", "a=3"), "{a: 3}");
}

TEST(Override, CreatesMapsOnTheWay) {
  EXPECT_EQ(overridden("a: 1\n", "b.c.d=3"), "{a: 1, b: {c: {d: 3}}}");
  EXPECT_EQ(overridden("a: {b: 1}\n", "a.c=3"), "{a: {b: 1, c: 3}}");
}

TEST(Override, AnyValue) {
  EXPECT_EQ(overridden("a: 1\n", "a=[8, 64]"), "{a: [8, 64]}");
  EXPECT_EQ(overridden("a: 1\n", "a={rank: 3, slowdown: 1.2}"), "{a: {rank: 3, slowdown: 1.2}}");
  EXPECT_EQ(overridden("a: 1\n", "a=x=y"), "{a: x=y}");
  EXPECT_EQ(overridden("a: 1\n", "a= 25 MiB "), "{a: 25 MiB}");
  EXPECT_EQ(overridden("a: 1\n", "a='#x'"), "{a: \"#x\"}");
  EXPECT_EQ(overridden("a: 1\n", "a=~"), "{a: ~}");
}

TEST(Override, TheValueKnowsItsPlaceInTheArgument) {
  Value root = parse("a: {b: 1}\n");
  apply_override(root, "a.c=[x, yy]");
  const Value& second = root.find("a")->value.find("c")->value.items.at(1);
  EXPECT_EQ(testing::brief(InputError(second.span, "wrong").what()), "--set:1:9-10: wrong");
}

TEST(Override, NoEqualsSign) {
  EXPECT_EQ(error_of("a.b"), "--set:1:1-3: 'a.b' has no '='; write --set key.path=value");
  EXPECT_EQ(error_of(""), "--set:1:1: '' has no '='; write --set key.path=value");
}

TEST(Override, NoValue) {
  EXPECT_EQ(error_of("a.b="), "--set:1:1-3: no value for 'a.b'; write --set key.path=value");
  for (std::string blank : {" ", "#x"})
    EXPECT_EQ(error_of("a.b=" + blank), "--set:1:" + testing::columns(5, blank.size()) +
                                            ": one value is expected after '='; write key.path=value");
}

TEST(Override, NoKeyPath) {
  for (std::string path : {".a", "a.", "a..b", "."})
    EXPECT_EQ(error_of(path + "=1"), "--set:1:" + testing::columns(1, path.size()) + ": '" + path +
                                         "' is not a key path; write --set key.path=value");
  EXPECT_EQ(error_of("=1"), "--set:1:1: '' is not a key path; write --set key.path=value");
}

TEST(Override, Refused) {
  EXPECT_EQ(error_of("a.b.c=1"),
            "--set:1:1-5: 'b' is a single value, so it has no key 'c'; check the key path");
  EXPECT_EQ(error_of("a.b.c=1", "a: [1]\n"),
            "--set:1:1-5: 'a' is a list, so it has no key 'b.c'; check the key path");
  EXPECT_EQ(
      error_of("a=[1, 2"),
      "--set:1:3: not valid YAML: end of sequence flow not found; check indentation, colons and brackets");
  EXPECT_EQ(error_of("a={b: 1, b: 2}"),
            "--set:1:10: key 'b' appears twice; the first one is on line 1; remove one");
}

constexpr const char* kSweep = "a: {b: 1}\nsweep: {a.b: [1, 2], c: [3]}\n";

// And those below it: replacing a whole section replaces what its axes would have set.
TEST(Override, RemovesTheSweepAxisOfThatKeyOnly) {
  EXPECT_EQ(overridden(kSweep, "a.b=7"), "{a: {b: 7}, sweep: {c: [3]}}");
  EXPECT_EQ(overridden(kSweep, "a={b: 7}"), "{a: {b: 7}, sweep: {c: [3]}}");
  EXPECT_EQ(overridden("sweep: {ab: [3, 4]}\n", "a={b: 5}"), "{sweep: {ab: [3, 4]}, a: {b: 5}}");
  EXPECT_EQ(overridden(kSweep, "a.c=7"), "{a: {b: 1, c: 7}, sweep: {a.b: [1, 2], c: [3]}}");
}

TEST(Override, ReplacesASweepAxis) {
  EXPECT_EQ(overridden(kSweep, "sweep.a.b=[5]"), "{a: {b: 1}, sweep: {a.b: [5], c: [3]}}");
  EXPECT_EQ(overridden(kSweep, "sweep.d.e=[5]"), "{a: {b: 1}, sweep: {a.b: [1, 2], c: [3], d.e: [5]}}");
  EXPECT_EQ(overridden("a: 1\n", "sweep.a=[5]"), "{a: 1, sweep: {a: [5]}}");
  EXPECT_EQ(overridden(kSweep, "sweep={}"), "{a: {b: 1}, sweep: {}}");
}

TEST(SetAt, ErrorsNameTheGivenPlace) {
  Value root = parse("a: 1\n"), value = root.entries[0].value;
  EXPECT_EQ(brief_error([&] { set_at(root, "a.b", value, root.entries[0].key_span); }),
            "a.yaml:1:1: 'a' is a single value, so it has no key 'b'; check the key path");
}

}  // namespace
}  // namespace ddpsim::config
