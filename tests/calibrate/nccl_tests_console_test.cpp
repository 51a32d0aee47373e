#include <sstream>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "tests/calibrate/console_output.hpp"
#include "tests/calibrate/tables.hpp"

namespace ddpsim::calibrate {
namespace {

using namespace literals;

TEST(NcclTestsConsole, WholeOutputInTheMiddleOfANotebook) {
  auto table = read_one("## Results\n\n> mpirun -np 2 all_reduce_perf -b 1K -e 4M -f 64\n\n```\n" +
                        kPreamble + kHeader + kRows + kTrailer + "```\n");
  EXPECT_EQ(table.title, "t");
  EXPECT_EQ(table.ranks, 2);
  EXPECT_EQ(table.nodes, 2);
  EXPECT_EQ(table.data_type, "float");
  EXPECT_EQ(table.nccl_version, "2.18.5");
  ASSERT_EQ(table.rows.size(), 3U);
  EXPECT_EQ(table.rows[1].bytes, 65536_B);
  EXPECT_DOUBLE_EQ(table.rows[1].out_of_place.value(), 20e-6);
  EXPECT_DOUBLE_EQ(table.rows[1].in_place.value().value(), 19e-6);
  EXPECT_FALSE(table.rows[2].in_place);
  EXPECT_EQ(table.rows[1].span.line, 17);
  EXPECT_EQ(table.rows[1].span.column, 8);
}

TEST(NcclTestsConsole, AMarkAtTheFrontMayBeLost) {
  auto text = kPreamble + kHeader + kRows;
  for (const auto* line : {"# nThread", "#  Rank  0", "#       size", "#        (B)"})
    text.replace(text.find(line), 1, " ");
  auto table = read_one(text);
  EXPECT_EQ(table.ranks, 2);
  EXPECT_EQ(table.rows.size(), 3U);
}

TEST(NcclTestsConsole, RowsAlone) {
  auto table = read_one(kRows);
  EXPECT_EQ(table.ranks, std::nullopt);
  EXPECT_EQ(table.nodes, std::nullopt);
  EXPECT_EQ(table.nccl_version, std::nullopt);
  EXPECT_EQ(table.data_type, "float");
  EXPECT_EQ(table.rows.size(), 3U);
}

// Until 2.10 there was no root, and the last column was the largest deviation.
TEST(NcclTestsConsole, OldRowsAlone) {
  auto table = read_one(
      "  1024  256  float  sum  10.00  0.10  0.10  2e-07  9.00  0.11  0.11  2e-07\n"
      " 65536 16384 float  sum  20.00  3.28  3.28  5e-07 19.00  3.45  3.45  5e-07\n"
      "131072 32768 float  sum  40.00  3.28  3.28  5e-07 38.00  3.45  3.45  5e-07\n");
  EXPECT_EQ(table.rows.size(), 3U);
  EXPECT_DOUBLE_EQ(table.rows[2].out_of_place.value(), 40e-6);
  EXPECT_DOUBLE_EQ(table.rows[2].in_place.value().value(), 38e-6);
}

TEST(NcclTestsConsole, OldHeader) {
  auto table = read_one(
      "#   Rank  0 Pid  123 on  box device  0 [0x07] Tesla V100\n"
      "#   Rank  1 Pid  123 on  box device  1 [0x08] Tesla V100\n"
      "#  size  count  type  redop  time  algbw  busbw  error  time  algbw  busbw  error\n"
      "#  (B)  (elements)  (us)  (GB/s)  (GB/s)  (us)  (GB/s)  (GB/s)\n"
      "  1024  256  float  sum  10.00  0.10  0.10  2e-07  9.00  0.11  0.11  2e-07\n"
      " 65536 16384 float  sum  20.00  3.28  3.28  5e-07 19.00  3.45  3.45  5e-07\n"
      "131072 32768 float  sum  40.00  3.28  3.28  5e-07 38.00  3.45  3.45  5e-07\n");
  EXPECT_EQ(table.ranks, 2);
  EXPECT_EQ(table.nodes, 1);
  EXPECT_EQ(table.rows.size(), 3U);
}

// Until 2.10 (src/all_gather.cu, broadcast.cu, sendrecv.cu, alltoall.cu, print_header). Bus bandwidths of an
// all-gather over two GPUs are half of the others.
TEST(NcclTestsConsole, OldProgramsHaveColumnsOfTheirOwn) {
  const std::string ranks =
      "#   Rank  0 Pid  123 on  box device  0 [0x07] Tesla V100\n"
      "#   Rank  1 Pid  123 on  box device  1 [0x08] Tesla V100\n";
  auto rows = [](const std::string& column, double factor) {
    std::string text;
    for (auto [bytes, micros] : {std::pair(65536, 20.0), {131072, 30.0}, {262144, 50.0}}) {
      auto rate = bytes / micros / 1e3;
      text += fmt::format("{0} {1} float {2} {3:.2f} {4:.2f} {5:.2f} 0e+00 {3:.2f} {4:.2f} {5:.2f} 0e+00\n",
                          bytes, bytes / 4, column, micros, rate, factor * rate);
    }
    return text;
  };
  auto operation = [&](const std::string& column, const std::string& value, double factor) {
    auto table = read_one(ranks + "#  size  count  type  " + column +
                          "  time  algbw  busbw  error  time  algbw  busbw  error\n" + rows(value, factor));
    EXPECT_EQ(table.rows.size(), 3U);
    EXPECT_DOUBLE_EQ(table.rows[2].out_of_place.value(), 50e-6);
    return words(table.operations);
  };
  EXPECT_EQ(operation("", "", 0.5), "all_gather");
  EXPECT_EQ(operation("dist", "1", 1), "send_recv");
  EXPECT_EQ(operation("redop", "", 0.5), "all_to_all");
  EXPECT_EQ(operation("redop", "sum", 0.5), "reduce_scatter");
  EXPECT_EQ(operation("root", "0", 1), "broadcast");
  EXPECT_EQ(operation("redop  root", "sum  0", 1), "reduce");
}

TEST(NcclTestsConsole, AReductionsColumnThatARowLacks) {
  auto error = testing::brief_error([] {
    read_all(
        "#  size  count  type  time  algbw  busbw  #wrong  redop\n65536 16384 float 20.00 3.28 3.28 0\n");
  });
  EXPECT_NE(error.find("a row of 7 cells, where the table has 8"), std::string::npos) << error;
}

TEST(NcclTestsConsole, BehindAnyLaunchersPrefix) {
  auto plain = read_one(kPreamble + kHeader + kRows);
  for (std::string prefix : {"0: ", " 3: ", "[prterun-node-a-4242@1,0]<stdout>: ", "launcher-0 | "}) {
    std::string text, line;
    for (std::istringstream lines(kPreamble + kHeader + kRows + kTrailer); std::getline(lines, line);)
      text += prefix + line + "\n";
    auto table = read_one("sbatch: job 42\n" + text);
    EXPECT_EQ(table.ranks, plain.ranks) << prefix;
    EXPECT_EQ(table.rows.size(), plain.rows.size()) << prefix;
    EXPECT_EQ(table.nccl_version, plain.nccl_version) << prefix;
  }
}

// NCCL_DEBUG=INFO: a row is printed in two parts.
TEST(NcclTestsConsole, NcclsLogWithinARow) {
  const std::string log = "host-a:4242:4242 [0] NCCL INFO 65536 Bytes -> Algo 1 proto 2 time 25.874907\n";
  const std::string first = "       65536         16384     float     sum      -1";
  ASSERT_TRUE(kRow2.starts_with(first));
  auto cut = kRow1 + first + log + log + kRow2.substr(first.size()) + log + kRow3;
  auto table = read_one(kPreamble + kHeader + cut);
  ASSERT_EQ(table.rows.size(), 3U);
  EXPECT_DOUBLE_EQ(table.rows[1].out_of_place.value(), 20e-6);
  EXPECT_DOUBLE_EQ(table.rows[1].in_place.value().value(), 19e-6);
  auto error = testing::brief_error([&] { read_all(kPreamble + kHeader + kRow1 + first + log + kRow3); });
  EXPECT_NE(error.find("NCCL's log cuts this row in two, and its rest does not follow"), std::string::npos)
      << error;
}

TEST(NcclTestsConsole, NewerOutputNamesTheProgramAndNcclsNumber) {
  auto table = read_one(
      "# nccl-tests version 2.17.6 nccl-headers=22703 nccl-library=22907\n"
      "# Collective test starting: all_reduce_perf\n" +
      kHeader + kRows);
  EXPECT_EQ(table.nccl_version, "2.29.7");
}

// -T appends a date and a time of day.
TEST(NcclTestsConsole, Timestamps) {
  std::string text =
      "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong timestamp\n"
      "# (B) (elements) (us) (GB/s) (GB/s) (us) (GB/s) (GB/s) %Y-%m-%d %H:%M:%S\n";
  for (const auto& row : {kRow1, kRow2, kRow3})
    text += row.substr(0, row.size() - 1) + "  2025-06-01 12:00:00\n";
  EXPECT_EQ(read_one(text).rows.size(), 3U);
}

TEST(NcclTestsConsole, WhatMpirunPutsBeforeALine) {
  std::string text;
  for (const auto& row : {kRow1, kRow2, kRow3}) text += "[1,0]<stdout>:" + row;
  EXPECT_EQ(read_one(text).rows.size(), 3U);
  text.clear();
  for (auto row : {kRow1, kRow2, kRow3}) text += "[0] " + row.insert(row.find("-1") + 2, "[0]");
  auto table = read_one(text);
  EXPECT_EQ(table.rows.size(), 3U);
  EXPECT_EQ(table.rows[0].span.column, 13);
}

TEST(NcclTestsConsole, OneTableARunAndADataType) {
  auto half = kRows;
  for (auto at = half.find("float"); at != std::string::npos; at = half.find("float"))
    half.replace(at, 5, " half");
  auto tables =
      read_all(kPreamble + kHeader + kRows + half + kTrailer + kPreamble + kHeader + kRows + kTrailer);
  ASSERT_EQ(tables.size(), 3U);
  EXPECT_EQ(tables[0].title, "t, 2 GPUs, float, run 1");
  EXPECT_EQ(tables[1].title, "t, 2 GPUs, half");
  EXPECT_EQ(tables[2].title, "t, 2 GPUs, float, run 2");
  EXPECT_EQ(tables[1].data_type, "half");
}

TEST(NcclTestsConsole, ZeroBytesAreLeftOut) {
  auto table = read_one(
      "           0             0     float     sum      -1     5.00    0.00    0.00      0     5.00    0.00 "
      "   "
      "0.00      0\n" +
      kRows);
  EXPECT_EQ(table.rows.front().bytes, 1024_B);
}

TEST(NcclTestsConsole, RowsAreSortedAndEqualOnesAreOne) {
  auto table = read_one(kRow3 + kRow1 + kRow2 + kRow1);
  ASSERT_EQ(table.rows.size(), 3U);
  EXPECT_EQ(table.rows[0].bytes, 1024_B);
  EXPECT_EQ(table.rows[2].bytes, 4194304_B);
}

// 4194304 B / 1.2e+06 us: from 1.15e6 to 1.25e6 us that is 0.00336 to 0.00365 GB/s, printed 0.00.
TEST(NcclTestsConsole, PrintedDigitsAreNotHeldAgainstARow) {
  auto row = std::string("4194304 1048576 float sum -1 1.2e+06 0.00 0.00 0 1.2e+06 0.00 0.00 0\n");
  EXPECT_EQ(read_one(kRow1 + kRow2 + row).rows.size(), 3U);
}

// The printed bandwidth is 1.9 % off what size and time make.
TEST(NcclTestsConsole, ARowThatNearlyAddsUp) {
  auto row = kRow2;
  row.replace(row.find("3.28"), 4, "3.34");
  EXPECT_EQ(read_one(kRow1 + row + kRow3).rows.size(), 3U);
}

// Killed between two rows: the rows that are there are good.
TEST(NcclTestsConsole, WholeRowsCountWithoutATrailer) {
  EXPECT_EQ(read_one(kPreamble + kHeader + kRows).rows.size(), 3U);
}

}  // namespace
}  // namespace ddpsim::calibrate
