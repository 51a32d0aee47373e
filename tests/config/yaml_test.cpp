#include <gtest/gtest.h>

#include "sim/config/value.hpp"

#include "tests/config/text.hpp"
#include "tests/support/temporary_folder.hpp"

namespace ddpsim::config {
namespace {

using testing::input_error;
using testing::parse;

// "line:column+length".
std::string place(const SourceSpan& span) {
  return std::to_string(span.line) + ":" + std::to_string(span.column) + "+" + std::to_string(span.length);
}

const Value& at(const Value& map, std::string_view key) {
  const Entry* entry = map.find(key);
  if (!entry) throw std::out_of_range(std::string(key));
  return entry->value;
}

TEST(Yaml, KindsOfValues) {
  auto root = parse("a: 25 MiB\nb: [1, 2]\nc: {d: e}\nf:\ng: ~\nh: ''\n");
  EXPECT_EQ(at(root, "a").kind, Value::Kind::scalar);
  EXPECT_EQ(at(root, "a").scalar, "25 MiB");
  ASSERT_EQ(at(root, "b").kind, Value::Kind::sequence);
  EXPECT_EQ(at(root, "b").items.at(1).scalar, "2");
  ASSERT_EQ(at(root, "c").kind, Value::Kind::map);
  EXPECT_EQ(at(at(root, "c"), "d").scalar, "e");
  EXPECT_EQ(at(root, "f").kind, Value::Kind::null);
  EXPECT_EQ(at(root, "g").kind, Value::Kind::null);
  EXPECT_EQ(at(root, "h").kind, Value::Kind::scalar);
  EXPECT_EQ(root.find("i"), nullptr);
}

// What was read for one section of a scenario serves another one that is equal.
TEST(Yaml, ValuesAreEqualByWhatIsWritten) {
  auto root = parse("a: {b: [1, 2], c: }");
  EXPECT_EQ(root, parse("# elsewhere\n\na:\n  'b':\n  - '1'\n  - 2\n  c: ~\n"));
  for (const char* other : {"a: {b: [1, 3], c: }", "a: {b: [1], c: }", "a: {b: [1, 2]}",
                            "a: {d: [1, 2], c: }", "a: {b: [1, 2], c: ''}", "a: {b: {1: 2}, c: }", "{}"}) {
    EXPECT_NE(root, parse(other)) << other;
    EXPECT_NE(root < parse(other), parse(other) < root) << other;
  }
}

TEST(Yaml, EntriesKeepTheOrderOfTheFile) {
  auto root = parse("z: 1\na: 2\nm: 3\n");
  ASSERT_EQ(root.entries.size(), 3U);
  EXPECT_EQ(root.entries[0].key + root.entries[1].key + root.entries[2].key, "zam");
}

TEST(Yaml, EveryValueKnowsItsPlace) {
  auto root = parse(
      "# a remark\n"
      "ddp:\n"
      "  bucket_cap: 25MiB  # why\n"
      "sweep: {world_size: [8, 64]}\n"
      "list:\n"
      "  - first\n");
  EXPECT_EQ(place(root.entries[0].key_span), "2:1+3");
  const Value& ddp = at(root, "ddp");
  EXPECT_EQ(place(ddp.span), "3:3+1");
  EXPECT_EQ(place(ddp.entries[0].key_span), "3:3+10");
  EXPECT_EQ(place(ddp.entries[0].value.span), "3:15+5");
  const Value& sizes = at(at(root, "sweep"), "world_size");
  EXPECT_EQ(place(sizes.span), "4:21+1");
  EXPECT_EQ(place(sizes.items[1].span), "4:25+2");
  EXPECT_EQ(place(at(root, "list").items[0].span), "6:5+5");
  EXPECT_EQ(ddp.span.file->name, "a.yaml");
}

// Columns count bytes: the umlaut takes two.
TEST(Yaml, PlaceAfterNonAsciiText) {
  auto root = parse("{\xC3\xA4: 1, b: 2}\n");
  EXPECT_EQ(place(root.entries[1].key_span), "1:9+1");
}

// Not at the next line, where yaml-cpp places an empty value.
TEST(Yaml, NothingIsPlacedAtItsKey) {
  auto root = parse("a:\nb: ~\n\nc:\n");
  EXPECT_EQ(place(at(root, "a").span), "1:1+1");
  EXPECT_EQ(place(at(root, "b").span), "2:1+1");
  EXPECT_EQ(place(at(root, "c").span), "4:1+1");
}

TEST(Yaml, AliasesAreCopies) {
  auto root = parse("a: &x {b: [1, 2]}\nc: *x\n");
  EXPECT_EQ(at(at(root, "c"), "b").items.at(1).scalar, "2");
  EXPECT_EQ(place(at(root, "c").span), "1:4+1");
}

TEST(Yaml, MarksOfADocumentAndWindowsLineEnds) {
  EXPECT_EQ(at(parse("---\na: 1\n...\n"), "a").scalar, "1");
  auto root = parse(
      "\xEF\xBB\xBF"
      "a: 1\r\nb: x y\r\n");
  EXPECT_EQ(at(root, "a").scalar, "1");
  EXPECT_EQ(at(root, "b").scalar, "x y");
}

TEST(Yaml, ReadsAFile) {
  testing::TemporaryFolder folder;
  EXPECT_EQ(at(load_yaml(folder.write("a.yaml", "a: 1\n"), "a scenario"), "a").scalar, "1");
  EXPECT_EQ(folder.without_folder(input_error([&] { load_yaml(folder.path("b.yaml"), "a scenario"); })),
            "b.yaml: error: no such file (expected a scenario)\n"
            "hint: check the path");
  folder.write("large.yaml", "a: " + std::string(4 << 20, 'x'));
  EXPECT_EQ(folder.without_folder(input_error([&] { load_yaml(folder.path("large.yaml"), "a scenario"); })),
            "large.yaml: error: is larger than 4 MiB, too large for a scenario\n"
            "hint: is it the right file?");
}

TEST(FlowText, ReadsBackAsTheSameValue) {
  for (std::string text :
       {"[8, 64]", "{rank: 3, slowdown: 1.2}", "25MiB", "~", "{a: [{b: ~}, x y], c: {d: []}}", "{}"}) {
    auto value = parse_yaml_value({text, {make_source("--set", text), 1, 1, 1}});
    EXPECT_EQ(to_flow_text(value), text);
  }
}

TEST(FlowText, QuotesWhatWouldReadBackDifferently) {
  for (std::string scalar : {"a: b", "[x", "#x", "", "~", "null", " x", "a\nb", "*x", "'", "\""}) {
    Value value;
    value.kind = Value::Kind::scalar;
    value.scalar = scalar;
    auto text = to_flow_text(value);
    EXPECT_EQ(text.find('\n'), std::string::npos);
    auto back = parse_yaml_value({text, {make_source("--set", text), 1, 1, 1}});
    EXPECT_EQ(back.kind, Value::Kind::scalar) << text;
    EXPECT_EQ(back.scalar, scalar) << text;
  }
}

}  // namespace
}  // namespace ddpsim::config
