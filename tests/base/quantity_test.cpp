#include "sim/base/quantity.hpp"

#include <gtest/gtest.h>

#include "tests/support/errors.hpp"

namespace ddpsim {
namespace {

using testing::brief_error;
using testing::columns;

Located located(const std::string& text) {
  return {text, {make_source("q", text), 1, 1, static_cast<int>(text.size())}};
}

double bytes(const std::string& text) {
  return parse_bytes(located(text)).value();
}
double bandwidth(const std::string& text) {
  return parse_bandwidth(located(text)).value();
}
double seconds(const std::string& text) {
  return parse_seconds(located(text)).value();
}

std::string bytes_error(const std::string& text) {
  return brief_error([&] { bytes(text); });
}
std::string bandwidth_error(const std::string& text) {
  return brief_error([&] { bandwidth(text); });
}
std::string seconds_error(const std::string& text) {
  return brief_error([&] { seconds(text); });
}

TEST(Bytes, PowersOfTwoAndOfTen) {
  EXPECT_EQ(bytes("0B"), 0);
  EXPECT_EQ(bytes("7B"), 7);
  EXPECT_EQ(bytes("1KiB"), 1024);
  EXPECT_EQ(bytes("25MiB"), 26214400);  // 25 * 1024 * 1024
  EXPECT_EQ(bytes("1GiB"), 1073741824);
  EXPECT_EQ(bytes("1TiB"), 1099511627776);
  EXPECT_EQ(bytes("1kB"), 1e3);
  EXPECT_EQ(bytes("1KB"), 1e3);
  EXPECT_EQ(bytes("25MB"), 25e6);
  EXPECT_EQ(bytes("1GB"), 1e9);
  EXPECT_EQ(bytes("1TB"), 1e12);
}

TEST(Bytes, AreWhole) {
  EXPECT_EQ(bytes("0.4B"), 0);
  EXPECT_EQ(bytes("1.5B"), 2);
  EXPECT_EQ(bytes("0.1KiB"), 102);  // 102.4
  EXPECT_EQ(bytes("1.5MiB"), 1572864);
}

TEST(Bytes, FormsOfTheNumber) {
  EXPECT_EQ(bytes("25 MiB"), 26214400);
  EXPECT_EQ(bytes("25   MiB"), 26214400);
  EXPECT_EQ(bytes("2.5e1MiB"), 26214400);
  EXPECT_EQ(bytes(".5MiB"), 524288);
  EXPECT_EQ(bytes("1e3B"), 1000);
}

TEST(Bytes, Refused) {
  EXPECT_EQ(bytes_error("25"), "q:1:1-2: '25' has no unit; write a size like 25MiB");
  EXPECT_EQ(bytes_error("25 MeB"), "q:1:4-6: unknown unit 'MeB'; write a size like 25MiB");
  EXPECT_EQ(bytes_error("1PiB"), "q:1:2-4: unknown unit 'PiB'; write a size like 25MiB");
  EXPECT_EQ(bytes_error("1mib"), "q:1:2-4: unknown unit 'mib'; write a size like 25MiB");
  EXPECT_EQ(bytes_error("25ms"), "q:1:3-4: '25ms' is a time, not a size; write a size like 25MiB");
  EXPECT_EQ(bytes_error("25MB/s"), "q:1:3-6: '25MB/s' is a bandwidth, not a size; write a size like 25MiB");
  EXPECT_EQ(bytes_error("MiB"), "q:1:1-3: 'MiB' is not a size; write it like 25MiB");
  EXPECT_EQ(bytes_error("+1MiB"), "q:1:1-5: '+1MiB' is not a size; write it like 25MiB");
  EXPECT_EQ(bytes_error(""), "q:1:1: '' is not a size; write it like 25MiB");
  EXPECT_EQ(bytes_error("-1MiB"), "q:1:1-5: '-1MiB' is negative; a size cannot be negative");
  EXPECT_EQ(bytes_error("-0B"), "q:1:1-3: '-0B' is negative; a size cannot be negative");
}

TEST(Bytes, NotFinite) {
  for (std::string text : {"nanB", "infB", "-infB", "nan", "inf", "infinityMiB"})
    EXPECT_EQ(bytes_error(text), "q:1:" + columns(1, text.size()) + ": '" + text +
                                     "' is not a finite number; write a size like 25MiB");
}

TEST(Bytes, BeyondDoubles) {
  EXPECT_EQ(bytes_error("1e400B"), "q:1:1-6: '1e400B' is out of range; write a size like 25MiB");
}

// Byte counts are exact as long as they are below 2^53 = 8 PiB.
TEST(Bytes, TooLarge) {
  EXPECT_EQ(bytes("9007199254740991B"), 9007199254740991);
  EXPECT_EQ(bytes_error("9007199254740992B"),
            "q:1:1-17: '9007199254740992B' is out of range; it must be below 8 PiB");
  EXPECT_EQ(bytes_error("1e308TiB"),  // the product is infinite
            "q:1:1-8: '1e308TiB' is out of range; it must be below 8 PiB");
}

TEST(Bandwidth, BytesAndBits) {
  EXPECT_EQ(bandwidth("12.5GB/s"), 12.5e9);
  EXPECT_EQ(bandwidth("100Gbps"), 12.5e9);  // 100e9 / 8
  EXPECT_EQ(bandwidth("100 Gb/s"), 12.5e9);
  EXPECT_EQ(bandwidth("12.5GBps"), 12.5e9);
  EXPECT_EQ(bandwidth("1GiB/s"), 1073741824);
  EXPECT_EQ(bandwidth("8Kibps"), 1024);
  EXPECT_EQ(bandwidth("1B/s"), 1);
  EXPECT_EQ(bandwidth("1bps"), 0.125);
}

TEST(Bandwidth, ZeroCarriesNothing) {
  for (std::string text : {"0B/s", "0Gbps"})
    EXPECT_EQ(bandwidth_error(text),
              "q:1:" + columns(1, text.size()) +
                  ": a bandwidth of zero carries nothing; remove the link, or give it a bandwidth");
}

TEST(Bandwidth, OtherDimension) {
  EXPECT_EQ(bandwidth_error("12.5GB"),
            "q:1:5-6: '12.5GB' is a size, not a bandwidth; write a bandwidth like 100Gbps or 12.5GB/s");
  EXPECT_EQ(bandwidth_error("5us"),
            "q:1:2-3: '5us' is a time, not a bandwidth; write a bandwidth like 100Gbps or 12.5GB/s");
}

TEST(Bandwidth, Bounds) {
  EXPECT_EQ(bandwidth_error("-1GB/s"), "q:1:1-6: '-1GB/s' is negative; a bandwidth cannot be negative");
  EXPECT_EQ(bandwidth("0.999e6TB/s"), 0.999e18);
  EXPECT_EQ(bandwidth_error("1e6TB/s"), "q:1:1-7: '1e6TB/s' is out of range; it must be below 10^18 B/s");
}

TEST(Seconds, Units) {
  EXPECT_EQ(seconds("0s"), 0);
  EXPECT_EQ(seconds("1.5s"), 1.5);
  EXPECT_DOUBLE_EQ(seconds("397.5ms"), 0.3975);
  EXPECT_DOUBLE_EQ(seconds("5us"), 5e-6);
  EXPECT_DOUBLE_EQ(seconds("5 \xC2\xB5s"), 5e-6);
  EXPECT_DOUBLE_EQ(seconds("700ns"), 7e-7);
}

TEST(Seconds, Errors) {
  EXPECT_EQ(seconds_error("5"), "q:1:1: '5' has no unit; write a time like 5us");
  EXPECT_EQ(seconds_error("5d"), "q:1:2: unknown unit 'd'; write a time like 5us");
  EXPECT_EQ(seconds_error("5MiB"), "q:1:2-4: '5MiB' is a size, not a time; write a time like 5us");
  EXPECT_EQ(seconds_error("-5us"), "q:1:1-4: '-5us' is negative; a time cannot be negative");
  EXPECT_EQ(seconds_error("1e9s"), "q:1:1-4: '1e9s' is out of range; it must be below 10^9 s");
}

TEST(Number, InsideItsBounds) {
  EXPECT_EQ(parse_number(located("1.5"), 0, 2), 1.5);
  EXPECT_EQ(parse_number(located("0"), 0, 2), 0);
  EXPECT_EQ(parse_number(located("2"), 0, 2), 2);
  EXPECT_EQ(parse_number(located("-1e-3"), -1, 1), -1e-3);
}

TEST(Number, Errors) {
  auto error = [](const std::string& text) {
    return brief_error([&] { parse_number(located(text), 0, 2); });
  };
  EXPECT_EQ(error("2.5"), "q:1:1-3: 2.5 is outside [0, 2]; write a number in that range");
  EXPECT_EQ(error("-1"), "q:1:1-2: -1 is outside [0, 2]; write a number in that range");
  EXPECT_EQ(error("1.5x"), "q:1:4: '1.5x' is not a plain number; write the bare number, without a unit");
  EXPECT_EQ(error("x"), "q:1:1: 'x' is not a number; write it like 1.5");
  EXPECT_EQ(error("nan"), "q:1:1-3: 'nan' is not a finite number; write a number like 1.5");
}

TEST(Integer, InsideItsBounds) {
  EXPECT_EQ(parse_integer(located("2"), 2, 8), 2);
  EXPECT_EQ(parse_integer(located("8"), 2, 8), 8);
  EXPECT_EQ(parse_integer(located("-3"), -3, 8), -3);
  EXPECT_EQ(parse_integer(located("9223372036854775807"), 0, INT64_MAX), INT64_MAX);
}

TEST(Integer, Errors) {
  auto error = [](const std::string& text) {
    return brief_error([&] { parse_integer(located(text), 2, 8); });
  };
  for (std::string text : {"1", "9", "-4", "9223372036854775808"})
    EXPECT_EQ(error(text), "q:1:" + columns(1, text.size()) + ": " + text +
                               " is out of range; write a number from 2 to 8");
  for (std::string text : {"2.0", "2e0", "two", "4 ", "4MiB", "0x4"})
    EXPECT_EQ(error(text), "q:1:" + columns(1, text.size()) + ": '" + text +
                               "' is not a whole number; write a whole number from 2 to 8");
}

TEST(Format, BytesInPowersOf1024) {
  EXPECT_EQ(format_bytes(Bytes(0)), "0 B");
  EXPECT_EQ(format_bytes(Bytes(1023)), "1023 B");
  EXPECT_EQ(format_bytes(Bytes(1024)), "1 KiB");
  EXPECT_EQ(format_bytes(Bytes(26214400)), "25 MiB");  // 25 * 2^20
  EXPECT_EQ(format_bytes(Bytes(1572864)), "1.5 MiB");
  EXPECT_EQ(format_bytes(Bytes(102)), "102 B");
  EXPECT_EQ(format_bytes(Bytes(0x1p40)), "1 TiB");
  EXPECT_EQ(format_bytes(Bytes(0x1p50)), "1024 TiB");
  EXPECT_EQ(format_bytes(Bytes(0x1p30 - 1)), "1 GiB");  // not "1024 MiB"
}

TEST(Format, BandwidthInPowersOf1000) {
  EXPECT_EQ(format_bandwidth(BytesPerSecond(0.125)), "0.125 B/s");
  EXPECT_EQ(format_bandwidth(BytesPerSecond(999)), "999 B/s");
  EXPECT_EQ(format_bandwidth(BytesPerSecond(1000)), "1 kB/s");
  EXPECT_EQ(format_bandwidth(BytesPerSecond(12.5e9)), "12.5 GB/s");
  EXPECT_EQ(format_bandwidth(BytesPerSecond(999.99e6)), "1 GB/s");
  EXPECT_EQ(format_bandwidth(BytesPerSecond(3.35e12)), "3.35 TB/s");
}

TEST(Format, SecondsWithAFittingUnit) {
  EXPECT_EQ(format_seconds(Seconds(0)), "0 s");
  EXPECT_EQ(format_seconds(Seconds(7e-7)), "700 ns");
  EXPECT_EQ(format_seconds(Seconds(5e-6)), "5 us");
  EXPECT_EQ(format_seconds(Seconds(3.740016e-3)), "3.74002 ms");
  EXPECT_EQ(format_seconds(Seconds(0.3975)), "397.5 ms");
  EXPECT_EQ(format_seconds(Seconds(1.5)), "1.5 s");
  EXPECT_EQ(format_seconds(Seconds(-2e-3)), "-2 ms");
}

}  // namespace
}  // namespace ddpsim
