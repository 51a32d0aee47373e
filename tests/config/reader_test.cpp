#include "sim/config/reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/config/text.hpp"

namespace ddpsim::config {
namespace {

using testing::brief_error;
using ::testing::ElementsAre;
using testing::parse;

// The error of reading the key `a` of `text` with `convert`.
template <class Convert>
std::string error_of(const std::string& text, Convert convert) {
  Value root = parse(text);
  return brief_error([&] { convert(root.find("a")->value); });
}
template <class Convert>
auto read(const std::string& text, Convert convert) {
  Value root = parse(text);
  return convert(root.find("a")->value);
}

TEST(Conversions, Quantities) {
  EXPECT_EQ(read("a: 25MiB", as_bytes), Bytes(26214400));
  EXPECT_EQ(read("a: 25 MiB", as_bytes), Bytes(26214400));
  EXPECT_EQ(read("a: 100Gbps", as_bandwidth), BytesPerSecond(12.5e9));
  EXPECT_EQ(read("a: 2s", as_seconds), Seconds(2));
}

TEST(Conversions, Refused) {
  EXPECT_EQ(error_of("a: 25ms", as_bytes),
            "a.yaml:1:6-7: '25ms' is a time, not a size; write a size like 25MiB");
  EXPECT_EQ(error_of("a: 25", as_bytes), "a.yaml:1:4-5: '25' has no unit; write a size like 25MiB");
  EXPECT_EQ(error_of("a: [1]", as_bytes), "a.yaml:1:4: expected a size, found a list; write it like 25MiB");
  EXPECT_EQ(error_of("a: {b: 1}", as_bandwidth),
            "a.yaml:1:4: expected a bandwidth, found a map; write it like 12.5GB/s");
  EXPECT_EQ(error_of("a:\nb: 1\n", as_seconds),
            "a.yaml:1:1: expected a time, found nothing; write it like 5us");
  EXPECT_EQ(error_of("a: ''", as_string),
            "a.yaml:1:4: expected text, found empty text; write it like 'key: text'");
}

TEST(Conversions, Booleans) {
  EXPECT_TRUE(read("a: true", as_bool));
  EXPECT_FALSE(read("a: false", as_bool));
  EXPECT_EQ(error_of("a: yes", as_bool),
            "a.yaml:1:4-6: 'yes' is neither true nor false; write true or false");
}

TEST(Conversions, Numbers) {
  EXPECT_EQ(read("a: 8", as_integer(2, 8)), 8);
  EXPECT_EQ(read("a: 1.2", as_number(1, 2)), 1.2);
  EXPECT_EQ(error_of("a: 9", as_integer(2, 8)), "a.yaml:1:4: 9 is out of range; write a number from 2 to 8");
  EXPECT_EQ(error_of("a: 0.5", as_number(1, 2)),
            "a.yaml:1:4-6: 0.5 is outside [1, 2]; write a number in that range");
  EXPECT_EQ(error_of("a: [8]", as_integer(2, 8)),
            "a.yaml:1:4: expected a whole number, found a list; write one number here; several go into an "
            "axis of 'sweep'");
  EXPECT_EQ(error_of("a:", as_number(1, 2)),
            "a.yaml:1:1: expected a number, found nothing; write one number");
}

TEST(Conversions, Words) {
  enum class Color { red, green };
  auto color = as_word(Words<Color>{{"red", Color::red}, {"green", Color::green}});
  EXPECT_EQ(read("a: green", color), Color::green);
  EXPECT_EQ(error_of("a: gren", color),
            "a.yaml:1:4-7: unknown value 'gren'; did you mean 'green'?; one of red, green");
  EXPECT_EQ(error_of("a: blue", color), "a.yaml:1:4-7: unknown value 'blue'; one of red, green");
}

TEST(Conversions, Lists) {
  EXPECT_THAT(read("a: [1s, 2s]", as_list(as_seconds)), ElementsAre(Seconds(1), Seconds(2)));
  EXPECT_TRUE(read("a: []", as_list(as_seconds)).empty());
  EXPECT_EQ(error_of("a: [1s, 2]", as_list(as_seconds)),
            "a.yaml:1:9: '2' has no unit; write a time like 5us");
  EXPECT_EQ(error_of("a: 1s", as_list(as_seconds)),
            "a.yaml:1:4-5: expected a list, found a single value; write it like [a, b]");
}

TEST(MapReader, OptionalAndRequiredKeys) {
  Value root = parse("cap: 1MiB\ntorch: '2.6'\n");
  MapReader reader(root, "ddp");
  EXPECT_EQ(reader.required("cap", as_bytes), Bytes(1048576));
  EXPECT_EQ(reader.optional("torch", as_string), "2.6");
  EXPECT_EQ(reader.optional("first", as_bytes), std::nullopt);
  EXPECT_NO_THROW(reader.finish());
}

TEST(MapReader, UnknownKey) {
  Value root = parse("cap: 1MiB\nbucket_cap_mb: 25\n");
  MapReader reader(root, "ddp");
  reader.find("cap");
  reader.find("bucket_cap");
  EXPECT_EQ(
      brief_error([&] { reader.finish(); }),
      "a.yaml:2:1-13: unknown key 'bucket_cap_mb'; did you mean 'bucket_cap'?; 'ddp' knows cap, bucket_cap");
}

TEST(MapReader, UnknownKeyLikeNoOther) {
  Value root = parse("latency: 1s\n");
  MapReader reader(root, "ddp");
  reader.find("cap");
  EXPECT_EQ(brief_error([&] { reader.finish(); }), "a.yaml:1:1-7: unknown key 'latency'; 'ddp' knows cap");
}

TEST(MapReader, MissingKey) {
  Value root = parse("link:\n  latency: 5us\n");
  MapReader reader(root.find("link")->value, "link");
  EXPECT_EQ(brief_error([&] { reader.required("bandwidth", as_bandwidth); }),
            "a.yaml:2:3: 'link' lacks the key 'bandwidth'; add 'bandwidth: ...'");
}

TEST(MapReader, MisspeltRequiredKey) {
  Value root = parse("link:\n  latency: 5us\n  bandwith: 1GB/s\n");
  MapReader reader(root.find("link")->value, "link");
  EXPECT_EQ(
      brief_error([&] { reader.required("bandwidth", as_bandwidth); }),
      "a.yaml:3:3-10: unknown key 'bandwith'; did you mean 'bandwidth'?; 'link' needs the key 'bandwidth'");
}

TEST(Conversions, FlopsRate) {
  Value root = parse("peak: 1.5TFLOP/s\nlist: [1TFLOP/s]\n");
  EXPECT_EQ(as_flops_rate(root.find("peak")->value), FlopsPerSecond(1.5e12));
  EXPECT_EQ(brief_error([&] { as_flops_rate(root.find("list")->value); }),
            "a.yaml:2:7: expected a rate of operations, found a list; write it like 66.9TFLOP/s");
}

TEST(MapReader, NoMap) {
  Value root = parse("link: 5us\n");
  EXPECT_EQ(brief_error([&] { MapReader(root.find("link")->value, "link"); }),
            "a.yaml:1:7-9: 'link' is a map of keys, not a single value; write 'key: value' lines below it");
}

TEST(MapReader, WordInPlaceOfTheMap) {
  Value root = parse("spread: non\n");
  EXPECT_EQ(brief_error([&] { MapReader(root.find("spread")->value, "spread", {"none"}); }),
            "a.yaml:1:9-11: unknown value 'non'; did you mean 'none'?; write none, or 'key: value' lines "
            "below 'spread'");
}

TEST(CheckWord, OnlyOtherWordsAreRefused) {
  Value root = parse("data: atuo\nmore: [auto, 8, -1, {a: 1}, '']\n");
  for (const auto& value : root.find("more")->value.items) check_word(value, {"auto"}, "write auto");
  EXPECT_EQ(brief_error([&] { check_word(root.find("data")->value, {"auto"}, "write auto"); }),
            "a.yaml:1:7-10: unknown value 'atuo'; did you mean 'auto'?; write auto");
}

}  // namespace
}  // namespace ddpsim::config
