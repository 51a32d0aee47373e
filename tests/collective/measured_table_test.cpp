#include <cmath>

#include <gtest/gtest.h>

#include "sim/collective/measured_cost.hpp"

#include "tests/support/errors.hpp"
#include "tests/support/temporary_folder.hpp"

namespace ddpsim {
namespace {

constexpr const char* kHeader = "# ddpsim-allreduce: 1\n# world_size: 8\n";

MeasuredTable read(const std::string& text) {
  testing::TemporaryFolder folder;
  return read_measured_table(folder.write("t.csv", text));
}

std::string error_of(const std::string& text) {
  testing::TemporaryFolder folder;
  auto path = folder.write("t.csv", text);
  return folder.without_folder(testing::brief_error([&] { read_measured_table(path); }));
}

// Below a good header.
std::string row_error(const std::string& rows) {
  return error_of(kHeader + rows);
}

const OperationTimes& times_of(const MeasuredTable& table) {
  return table.of(Operation::all_reduce);
}

TEST(MeasuredTable, HeaderAndRows) {
  auto table = read(
      "# ddpsim-allreduce: 1\n"
      "# world_size: 8\n"
      "# source: somewhere, with a colon: and commas\n"
      "# free text: of several words\n"
      "# note\n"
      "bytes,time_s,std_s\n"
      "4,0.0029,0.0001\n"
      "1e6,0.003,0\n");
  EXPECT_EQ(table.world_size, 8);
  ASSERT_EQ(times_of(table).cost.points().size(), 2U);
  EXPECT_EQ(times_of(table).cost.points()[1].bytes, Bytes(1'000'000));
  EXPECT_EQ(times_of(table).cost.points()[1].measured, Seconds(0.003));
  EXPECT_EQ(times_of(table).cost(Bytes(4)), Seconds(0.0029));
}

std::vector<std::string> notes(const std::string& rows) {
  std::vector<std::string> texts;
  for (const auto& note : table_notes(read(kHeader + ("bytes,time_s\n" + rows))))
    texts.push_back(note.code + ": " + note.text);
  return texts;
}

TEST(MeasuredTable, NotesOnUnlikelyOnes) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(notes("1024,50e-6\n1e9,0.05\n"), Texts());
  EXPECT_EQ(
      notes("1e9,0.05\n"),
      Texts{
          "table-one-row: the measured table has one row, 953.7 MiB: what any other size takes is a guess"});
  EXPECT_EQ(notes("1024,0.05\n1e9,50\n"),
            Texts{"table-units: in the measured table 953.7 MiB take 50 s (algbw 20 MB/s): "
                  "are bytes in bytes and time_s in seconds?"});
  EXPECT_EQ(notes("1024,0.05\n1e9,0.06\n"),
            Texts{"table-units: in the measured table 1 KiB take 50 ms (algbw 20.48 "
                  "kB/s): are bytes in bytes and time_s in seconds?"});
  EXPECT_EQ(notes("1024,1e-9\n1e9,50e-6\n"),
            Texts{"table-units: in the measured table 953.7 MiB take 50 us (algbw 20 "
                  "TB/s): are bytes in bytes and time_s in seconds?"});
}

TEST(MeasuredTable, ColumnsInAnyOrder) {
  auto table = read(std::string(kHeader) + "time_s,bytes\n0.25,4\n");
  EXPECT_EQ(times_of(table).cost(Bytes(4)), Seconds(0.25));
}

// 2 s and 1 s become sqrt(2) s each, unless the file says that they stay: then 1.5 s half-way, and no more
// than the first time below it.
TEST(MeasuredTable, TimesThatFallStayWhereTheFileSaysSo) {
  auto pooled = read(std::string(kHeader) + "# pooling: monotone\nbytes,time_s\n100,2\n200,1\n");
  EXPECT_DOUBLE_EQ(times_of(pooled).cost(Bytes(100)).value(), std::sqrt(2));
  EXPECT_DOUBLE_EQ(times_of(pooled).cost(Bytes(200)).value(), std::sqrt(2));
  auto kept = read(std::string(kHeader) + "# pooling: none\nbytes,time_s\n100,2\n200,1\n");
  EXPECT_EQ(times_of(kept).cost(Bytes(100)), Seconds(2));
  EXPECT_EQ(times_of(kept).cost(Bytes(150)), Seconds(1.5));
  EXPECT_EQ(times_of(kept).cost(Bytes(200)), Seconds(1));
  EXPECT_EQ(times_of(kept).cost(Bytes(50)), Seconds(2));
  EXPECT_TRUE(times_of(kept).cost.repaired_points().empty());
}

TEST(MeasuredTable, WhatWasMeasuredTogether) {
  EXPECT_EQ(read(std::string(kHeader) + "# run_set: lab A, one day\nbytes,time_s\n100,2\n").run_set,
            "lab A, one day");
  EXPECT_FALSE(read(std::string(kHeader) + "bytes,time_s\n100,2\n").run_set);
}

TEST(MeasuredTable, WhoWasMeasured) {
  EXPECT_EQ(read(std::string(kHeader) + "# backend: gloo\nbytes,time_s\n100,2\n").backend, Backend::gloo);
  EXPECT_EQ(read(std::string(kHeader) + "# backend: nccl\nbytes,time_s\n100,2\n").backend, Backend::nccl);
  EXPECT_FALSE(read(std::string(kHeader) + "bytes,time_s\n100,2\n").backend);
}

TEST(MeasuredTable, SeveralOperations) {
  auto table = read(std::string(kHeader) +
                    "operation,bytes,time_s,queued_s\n"
                    "reduce_scatter,100,3,2\nall_gather,50,1,\nreduce_scatter,200,5,4\n");
  EXPECT_FALSE(table.has(Operation::all_reduce));
  ASSERT_EQ(table.operations.size(), 2U);
  const auto& gathers = table.of(Operation::all_gather);
  EXPECT_EQ(gathers.time(Bytes(50), true), Seconds(1));
  EXPECT_FALSE(gathers.queued);
  const auto& scatters = table.of(Operation::reduce_scatter);
  EXPECT_EQ(scatters.time(Bytes(150), false), Seconds(4));
  EXPECT_EQ(scatters.time(Bytes(150), true), Seconds(3));
  std::vector<std::string> texts;
  for (const auto& note : table_notes(table)) texts.push_back(note.text);
  EXPECT_EQ(texts.front(),
            "the measured table has one row of all_gather, 50 B: what any other size takes is a guess");
}

// Queued 3 s at 100 B and 5 s at 300 B: 4 s half-way, where nothing was measured. Alone it is 7 s there.
TEST(MeasuredTable, QueuedTimes) {
  auto table = read(std::string(kHeader) + "bytes,queued_s,time_s\n100,3,6\n200,,7\n300,5,9\n");
  ASSERT_TRUE(times_of(table).queued);
  EXPECT_EQ(times_of(table).queued->points().size(), 2U);
  EXPECT_EQ(times_of(table).time(Bytes(100), true), Seconds(3));
  EXPECT_EQ(times_of(table).time(Bytes(200), true), Seconds(4));
  EXPECT_EQ(times_of(table).time(Bytes(300), true), Seconds(5));
  EXPECT_EQ(times_of(table).time(Bytes(100), false), Seconds(6));
  EXPECT_EQ(times_of(table).time(Bytes(200), false), Seconds(7));
}

// Then a queued one takes what one alone takes.
TEST(MeasuredTable, NoQueuedTimes) {
  for (const char* rows : {"bytes,time_s\n100,6\n200,8\n", "bytes,time_s,queued_s\n100,6,\n200,8,\n"}) {
    auto table = read(std::string(kHeader) + rows);
    EXPECT_FALSE(times_of(table).queued);
    EXPECT_EQ(times_of(table).time(Bytes(150), true), Seconds(7));
    EXPECT_EQ(times_of(table).time(Bytes(150), false), Seconds(7));
  }
}

// Measured 2 s and 1 s: sqrt(2) s each. The times alone, which grow, stay as they are.
TEST(MeasuredTable, QueuedTimesThatFallArePooled) {
  const std::string rows = "bytes,time_s,queued_s\n100,3,2\n200,4,1\n";
  auto pooled = read(kHeader + rows);
  EXPECT_DOUBLE_EQ(times_of(pooled).time(Bytes(100), true).value(), std::sqrt(2));
  EXPECT_DOUBLE_EQ(times_of(pooled).time(Bytes(200), true).value(), std::sqrt(2));
  EXPECT_EQ(times_of(pooled).time(Bytes(100), false), Seconds(3));
  auto kept = read(std::string(kHeader) + "# pooling: none\n" + rows);
  EXPECT_EQ(times_of(kept).time(Bytes(100), true), Seconds(2));
  EXPECT_EQ(times_of(kept).time(Bytes(200), true), Seconds(1));
}

// The recorded table: at 104,794,880 B 17.479 ms and at twice as much 14.473 ms become
// sqrt(17.479 * 14.473) = sqrt(252.9736) = 15.90514 ms.
TEST(MeasuredTable, TheRecordedOne) {
  auto table = read_measured_table(DDPSIM_SOURCE_DIR "/traces/allreduce-8xa100.csv");
  EXPECT_EQ(table.world_size, 8);
  EXPECT_EQ(times_of(table).cost.points().size(), 19U);
  EXPECT_EQ(times_of(table).cost(Bytes(26198720)), Seconds(0.006521));
  EXPECT_NEAR(times_of(table).cost(Bytes(104794880)).value(), 0.01590514, 1e-8);
  EXPECT_EQ(times_of(table).cost(Bytes(104794880)), times_of(table).cost(Bytes(209589760)));
  EXPECT_EQ(times_of(table).cost(Bytes(6706872320)), Seconds(0.447628));
}

TEST(MeasuredTableErrors, MissingFile) {
  testing::TemporaryFolder folder;
  auto message = testing::brief_error([&] { read_measured_table(folder.path("none.csv")); });
  EXPECT_EQ(folder.without_folder(message),
            "none.csv: no such file (expected an all-reduce table); check the path");
}

TEST(MeasuredTableErrors, Refused) {
  EXPECT_EQ(error_of("# world_size: 8\nbytes,time_s\n4,1\n"),
            "t.csv: has no line '# ddpsim-allreduce: 1'; it is not an all-reduce table; is it the right "
            "file? That line comes first");
  EXPECT_EQ(error_of("# ddpsim-allreduce: 2\n# world_size: 8\nbytes,time_s\n4,1\n"),
            "t.csv:1:21: ddpsim-allreduce version '2' is not known; this program reads version 1");
  EXPECT_EQ(error_of("# ddpsim-allreduce: 1\nbytes,time_s\n4,1\n"),
            "t.csv: does not say its world size; add '# world_size: N'");
  EXPECT_EQ(error_of("# ddpsim-allreduce: 1\n# world_size: 1\nbytes,time_s\n4,1\n"),
            "t.csv:2:15: 1 is out of range; write a number from 2 to 1048576");
  EXPECT_EQ(error_of("# ddpsim-allreduce: 1\n# world_size: eight\nbytes,time_s\n4,1\n"),
            "t.csv:2:15-19: 'eight' is not a whole number; write a whole number from 2 to 1048576");
  EXPECT_EQ(row_error("# world_size: 16\nbytes,time_s\n4,1\n"),
            "t.csv:3:3-12: header key 'world_size' appears twice; remove one");
  EXPECT_EQ(row_error("# pooling: some\nbytes,time_s\n4,1\n"),
            "t.csv:3:12-15: unknown pooling 'some'; it is monotone (the default) or none");
  EXPECT_EQ(row_error("# wrld_size: 16\nbytes,time_s\n4,1\n"),
            "t.csv:3:3-11: unknown header key 'wrld_size'; did you mean 'world_size'?; write free text with "
            "a blank before any colon");
  EXPECT_EQ(row_error("bytes,time,std_s\n4,1,0\n"),
            "t.csv:3:7-10: unknown column 'time'; did you mean 'time_s'?; the columns are bytes, time_s and "
            "optionally operation, std_s and queued_s");
  EXPECT_EQ(row_error("bytes,std_s\n4,0\n"),
            "t.csv:3:1: no column 'time_s'; the columns here are bytes, std_s");
  EXPECT_EQ(row_error("bytes,time_s\n"), "t.csv: has no rows; is the file cut off?");
  EXPECT_EQ(row_error("bytes,time_s\n4\n"),
            "t.csv:4:1: 1 field where the header has 2; is the file cut off, or a comma missing?");
  EXPECT_EQ(row_error("bytes,time_s\n4,1\n8,2\n6,3\n"),
            "t.csv:6:1: 6 bytes after 8; sort the rows by bytes, one row a size");
  EXPECT_EQ(row_error("bytes,time_s\n4,1\n4,2\n"),
            "t.csv:5:1: 4 bytes after 4; sort the rows by bytes, one row a size");
  EXPECT_EQ(row_error("bytes,time_s\n0,1\n"), "t.csv:4:1: '0' is not positive; every row is a measurement");
  EXPECT_EQ(row_error("bytes,time_s\n1.5,1\n"),
            "t.csv:4:1-3: '1.5' is not a whole number of bytes; is the column in another unit?");
  EXPECT_EQ(row_error("bytes,time_s\n4MiB,1\n"),
            "t.csv:4:2-4: '4MiB' is not a plain number; write the bare number, without a unit");
  EXPECT_EQ(row_error("bytes,time_s\n,1\n"), "t.csv:4:1: '' is not a number; write it like 1.5");
  EXPECT_EQ(row_error("bytes,time_s\n4,0\n"), "t.csv:4:3: '0' is not positive; every row is a measurement");
  EXPECT_EQ(row_error("bytes,time_s\n4,-1\n"),
            "t.csv:4:3-4: -1 is outside [0, 1000000]; write a number in that range");
  EXPECT_EQ(row_error("bytes,time_s\n4,2000000\n"),
            "t.csv:4:3-9: 2000000 is outside [0, 1000000]; write a number in that range");
  EXPECT_EQ(row_error("bytes,time_s\n4,nan\n"),
            "t.csv:4:3-5: 'nan' is not a finite number; write a number like 1.5");
  EXPECT_EQ(row_error("bytes,time_s,std_s\n4,1,-0.1\n"),
            "t.csv:4:5-8: -0.1 is outside [0, 1000000]; write a number in that range");
  EXPECT_EQ(row_error("bytes,time_s,queued_s\n4,1,0\n"),
            "t.csv:4:5: '0' is not positive; every row is a measurement");
  EXPECT_EQ(row_error("bytes,time_s,queued_s\n4,1,-0.1\n"),
            "t.csv:4:5-8: -0.1 is outside [0, 1000000]; write a number in that range");
  EXPECT_EQ(row_error("bytes,time_s,queued_s\n4,1,-\n"), "t.csv:4:5: '-' is not a number; write it like 1.5");
  EXPECT_EQ(row_error("bytes,time_s,queued_s\n4,1,1ms\n"),
            "t.csv:4:6-7: '1ms' is not a plain number; write the bare number, without a unit");
  EXPECT_EQ(row_error("bytes,time_s,queued_s\n4,1\n"),
            "t.csv:4:1-3: 2 fields where the header has 3; is the file cut off, or a comma missing?");
  EXPECT_EQ(row_error("bytes,time_s,queue_s\n4,1,1\n"),
            "t.csv:3:14-20: unknown column 'queue_s'; did you mean 'queued_s'?; the columns are bytes, "
            "time_s and optionally operation, std_s and queued_s");
}

}  // namespace
}  // namespace ddpsim
