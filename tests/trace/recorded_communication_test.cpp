#include "sim/trace/recorded_communication.hpp"

#include <cmath>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/check.hpp"
#include "sim/collective/measured_cost.hpp"

#include "tests/support/errors.hpp"
#include "tests/support/temporary_folder.hpp"

namespace ddpsim {
namespace {

using ::testing::HasSubstr;

constexpr const char* kHeader =
    "# ddpsim-recorded: 1\n"
    "# world_size: 2\n"
    "# steps: 3\n";
constexpr const char* kColumns = "collective,elements,dtype,ready_s,start_s,end_s,duration_s\n";

RecordedCommunication parse(const std::string& text) {
  return parse_recorded_communication({make_source("r.csv", text), text});
}

std::string error_of(const std::string& text) {
  return testing::input_error([&] { parse(text); });
}

// Below a good header.
std::string row_error(const std::string& rows) {
  return error_of(std::string(kHeader) + kColumns + rows);
}

RecordedCommunication two_collectives() {
  RecordedCommunication recorded;
  recorded.world_size = 2;
  recorded.steps = 3;
  recorded.collectives = {{2049000, DType::float32, Seconds(0.25), Seconds(0.5), Seconds(1), Seconds(0.25)},
                          {7875584, DType::float16, Seconds(0.75), Seconds(1), Seconds(2), Seconds(1.125)}};
  return recorded;
}

TEST(RecordedCommunication, ReadsHeaderAndRows) {
  auto recorded = parse(
      "# ddpsim-recorded: 1\n"
      "# world_size: 2\n"
      "# steps: 3\n"
      "# source: here: and there\n"
      "# a remark\n"
      "# see also: another\n"
      "#\n"
      "duration_s,collective,elements,dtype,ready_s,start_s,end_s\n"
      "0.25,0,2049000,float32,0.25,0.5,1\n"
      "1.125,1,7875584,float16,0.75,1,2\n");
  auto expected = two_collectives();
  expected.source = "here: and there";
  EXPECT_EQ(recorded, expected);
  EXPECT_EQ(recorded.collectives[0].bytes(), Bytes(4 * 2049000));
  EXPECT_EQ(recorded.collectives[1].bytes(), Bytes(2 * 7875584));
}

TEST(RecordedCommunication, WritesTheShortestText) {
  auto recorded = two_collectives();
  recorded.source = "a cluster";
  EXPECT_EQ(write_recorded_communication(recorded),
            "# ddpsim-recorded: 1\n"
            "# world_size: 2\n"
            "# steps: 3\n"
            "# source: a cluster\n"
            "collective,elements,dtype,ready_s,start_s,end_s,duration_s\n"
            "0,2049000,float32,0.25,0.5,1,0.25\n"
            "1,7875584,float16,0.75,1,2,1.125\n");
}

TEST(RecordedCommunication, ReadsBackExactlyWhatItWrote) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> exponent(-12, 3);
  auto time = [&] { return Seconds(std::pow(10.0, exponent(random))); };
  for (int i = 0; i < 500; ++i) {
    RecordedCommunication recorded;
    recorded.world_size = 2 + i;
    recorded.steps = 1 + i;
    if (i % 2 == 0) recorded.source = "s # t, \"u\": v";
    Seconds start;
    for (int n = 0; n <= i % 4; ++n) {
      start += time();
      RecordedCollective collective{1 + i * 7919LL, static_cast<DType>(i % 4), start, start, start, time()};
      if (n % 2 == 0) collective.ready = start / 3;
      if (n % 3 == 0) collective.end = start + time();
      recorded.collectives.push_back(collective);
    }
    auto text = write_recorded_communication(recorded);
    ASSERT_EQ(parse(text), recorded) << text;
  }
}

TEST(RecordedCommunication, ASourceOfTwoLinesIsTheUsersMistake) {
  auto recorded = two_collectives();
  recorded.source = "two\nlines";
  EXPECT_EQ(testing::input_error([&] { write_recorded_communication(recorded); }),
            "error: the recording's source 'two\nlines' cannot be written as a header line\n"
            "hint: it must be one line of text without blanks around it");
}

TEST(RecordedCommunication, BrokenPromisesAreInternalErrors) {
  auto broken = [](auto&& change) {
    auto recorded = two_collectives();
    change(recorded);
    try {
      write_recorded_communication(recorded);
    } catch (const InternalError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_THAT(broken([](auto& r) { r.collectives.clear(); }), HasSubstr("recorded collectives"));
  EXPECT_THAT(broken([](auto& r) { r.world_size = 1; }), HasSubstr("a group that reduces"));
  EXPECT_THAT(broken([](auto& r) { r.steps = 0; }), HasSubstr("a recorded step"));
  EXPECT_THAT(broken([](auto& r) { r.collectives[0].elements = 0; }), HasSubstr("has elements"));
  EXPECT_THAT(broken([](auto& r) { r.collectives[0].ready = Seconds(0.6); }), HasSubstr("in this order"));
  EXPECT_THAT(broken([](auto& r) { r.collectives[0].end = Seconds(0.4); }), HasSubstr("in this order"));
  EXPECT_THAT(broken([](auto& r) { r.collectives[0].end = Seconds(std::nan("")); }),
              HasSubstr("in this order"));
  EXPECT_THAT(broken([](auto& r) { r.collectives[0].duration = Seconds(0); }), HasSubstr("takes time"));
  EXPECT_THAT(broken([](auto& r) { std::swap(r.collectives[0], r.collectives[1]); }),
              HasSubstr("order of their launch"));
}

TEST(RecordedCommunication, MediansOfEverySizeMakeAnAllReduceTable) {
  RecordedCommunication recorded;
  recorded.world_size = 2;
  recorded.steps = 5;
  recorded.source = "a cluster";
  double start = 0;
  auto add = [&](std::int64_t elements, DType dtype, double duration) {
    recorded.collectives.push_back(
        {elements, dtype, Seconds(0), Seconds(start++), Seconds(start), Seconds(duration)});
  };
  add(1000, DType::float32, 0.5);
  add(10, DType::float32, 0.25);
  add(1000, DType::float32, 0.125);
  add(2000, DType::float16, 2);  // 4000 bytes as well
  add(20, DType::float16, 0.75);
  auto text = write_all_reduce_table(recorded);
  EXPECT_EQ(text,
            "# ddpsim-allreduce: 1\n"
            "# world_size: 2\n"
            "# source: a cluster\n"
            "# backend: nccl\n"
            "# pooling: none\n"
            "# kernels of one rank of a training run, whose times include waiting for the slowest rank\n"
            "bytes,time_s\n"
            "40,0.5\n"      // between 0.25 and 0.75
            "4000,0.5\n");  // the middle of 0.125, 0.5 and 2
  testing::TemporaryFolder folder;
  auto table = read_measured_table(folder.write("t.csv", text));
  EXPECT_EQ(table.world_size, 2);
  EXPECT_EQ(table.of(Operation::all_reduce).cost(Bytes(4000)), Seconds(0.5));
}

TEST(RecordedCommunicationErrors, AnotherKindOfFile) {
  EXPECT_EQ(error_of("# ddpsim-trace: 1\ngradient,elements,dtype,ready_s\na,1,float32,0\n"),
            "r.csv: error: has no line '# ddpsim-recorded: 1'; it is not a table of recorded collectives\n"
            "hint: is it the right file? That line comes first");
}

TEST(RecordedCommunicationErrors, AVersionOfTheFuture) {
  EXPECT_THAT(error_of("# ddpsim-recorded: 2\n"), HasSubstr("ddpsim-recorded version '2' is not known"));
}

TEST(RecordedCommunicationErrors, HeaderKeys) {
  const std::string row = std::string(kColumns) + "0,1,float32,0,0,1,1\n";
  EXPECT_EQ(error_of("# ddpsim-recorded: 1\n# worldsize: 2\n" + row),
            "r.csv:2:3: error: unknown header key 'worldsize'; did you mean 'world_size'?\n"
            "  2 | # worldsize: 2\n"
            "    |   ^~~~~~~~~\n"
            "hint: the keys are ddpsim-recorded, world_size, steps, source; a remark has no ':' after its "
            "first word");
  EXPECT_EQ(error_of("# ddpsim-recorded: 1\n# steps: 2\n" + row),
            "r.csv: error: does not say its world_size\nhint: add '# world_size: N'");
  EXPECT_EQ(error_of("# ddpsim-recorded: 1\n# world_size: 2\n" + row),
            "r.csv: error: does not say its steps\nhint: add '# steps: N'");
  EXPECT_EQ(error_of("# ddpsim-recorded: 1\n# world_size: 2\n# steps: 1\n# steps: 2\n" + row),
            "r.csv:4:3: error: header key 'steps' appears twice\n"
            "  4 | # steps: 2\n"
            "    |   ^~~~~\n"
            "hint: it is first on line 3; remove one");
  EXPECT_EQ(error_of("# ddpsim-recorded: 1\n# world_size: 2\n# steps: 1\n# source:\n" + row),
            "r.csv:4:3: error: header key 'source' has no value\n"
            "  4 | # source:\n"
            "    |   ^~~~~~\n"
            "hint: give it a value or remove the line");
  EXPECT_EQ(error_of("# ddpsim-recorded: 1\n# world_size: 1\n# steps: 1\n" + row),
            "r.csv:2:15: error: 1 is out of range\n"
            "  2 | # world_size: 1\n"
            "    |               ^\n"
            "hint: write a number from 2 to 1048576");
  EXPECT_THAT(error_of("# ddpsim-recorded: 1\n# world_size: 2\n# steps: 0\n" + row),
              HasSubstr("r.csv:3:10: error: 0 is out of range"));
}

TEST(RecordedCommunicationErrors, Columns) {
  EXPECT_EQ(
      error_of(std::string(kHeader) + "collective,elements,dtype,ready_s,start_s,end_s\n0,1,float32,0,0,1\n"),
      "r.csv:4:1: error: no column 'duration_s'\n"
      "  4 | collective,elements,dtype,ready_s,start_s,end_s\n"
      "    | ^\n"
      "hint: the columns here are collective, elements, dtype, ready_s, start_s, end_s");
  EXPECT_EQ(error_of(std::string(kHeader) + "collective,elements,dtype,ready_s,start_ms,end_s,duration_s\n"),
            "r.csv:4:35: error: unknown column 'start_ms'; did you mean 'start_s'?\n"
            "  4 | collective,elements,dtype,ready_s,start_ms,end_s,duration_s\n"
            "    |                                   ^~~~~~~~\n"
            "hint: the columns of a table of recorded collectives are collective, elements, dtype, ready_s, "
            "start_s, end_s, duration_s");
  EXPECT_THAT(error_of(std::string(kHeader) + "collective,elements,elements\n"),
              HasSubstr("column 'elements' appears twice"));
}

TEST(RecordedCommunicationErrors, Rows) {
  EXPECT_EQ(row_error(""), "r.csv: error: has no collectives\nhint: is the file cut off?");
  EXPECT_EQ(row_error("1,1,float32,0,0,1,1\n"),
            "r.csv:5:1: error: collective 1 where 0 is next\n"
            "  5 | 1,1,float32,0,0,1,1\n"
            "    | ^\n"
            "hint: rows stand in the order of launch, numbered from 0");
  EXPECT_EQ(row_error("0,0,float32,0,0,1,1\n"),
            "r.csv:5:3: error: 0 is out of range\n"
            "  5 | 0,0,float32,0,0,1,1\n"
            "    |   ^\n"
            "hint: write a number from 1 to 9007199254740992");
  EXPECT_THAT(row_error("0,1,fp32,0,0,1,1\n"), HasSubstr("r.csv:5:5: error: unknown dtype 'fp32'"));
  EXPECT_EQ(row_error("0,1,float32,0,,1,1\n"),
            "r.csv:5:15: error: no start_s here\n"
            "  5 | 0,1,float32,0,,1,1\n"
            "    |               ^\n"
            "hint: every collective has one");
  EXPECT_THAT(row_error("0,1,float32,0,0,1\n"), HasSubstr("6 fields where the header has 7"));
  EXPECT_THAT(row_error("0,9007199254740992,float64,0,0,1,1\n"),
              HasSubstr("r.csv:5:3: error: the collectives up to here are more than 8 PiB"));
}

TEST(RecordedCommunicationErrors, Times) {
  EXPECT_EQ(row_error("0,1,float32,0,nan,1,1\n"),
            "r.csv:5:15: error: 'nan' is not a finite number\n"
            "  5 | 0,1,float32,0,nan,1,1\n"
            "    |               ^~~\n"
            "hint: write a number like 1.5");
  EXPECT_EQ(row_error("0,1,float32,-1,0,1,1\n"),
            "r.csv:5:13: error: -1 is outside [0, 1000000]\n"
            "  5 | 0,1,float32,-1,0,1,1\n"
            "    |             ^~\n"
            "hint: write a number in that range");
  EXPECT_THAT(row_error("0,1,float32,0,0,inf,1\n"), HasSubstr("'inf' is not a finite number"));
  EXPECT_THAT(row_error("0,1,float32,0,0,1ms,1\n"), HasSubstr("'1ms' is not a plain number"));
  EXPECT_THAT(row_error("0,1,float32,0,0,1e9,1\n"), HasSubstr("1e9 is outside"));
  EXPECT_EQ(row_error("0,1,float32,0.5,0.25,1,0.75\n"),
            "r.csv:5:17: error: starts before 0.5, when it is ready\n"
            "  5 | 0,1,float32,0.5,0.25,1,0.75\n"
            "    |                 ^~~~\n"
            "hint: an all-reduce begins when its gradients are there; are the columns in another order?");
  EXPECT_EQ(row_error("0,1,float32,0,1,0.5,0.5\n"),
            "r.csv:5:17: error: ends before it starts at 1\n"
            "  5 | 0,1,float32,0,1,0.5,0.5\n"
            "    |                 ^~~\n"
            "hint: are the columns in another order?");
  EXPECT_EQ(row_error("0,1,float32,0,1,2,0\n"),
            "r.csv:5:19: error: a duration of zero\n"
            "  5 | 0,1,float32,0,1,2,0\n"
            "    |                   ^\n"
            "hint: a recorded time is above zero seconds");
  EXPECT_EQ(row_error("0,1,float32,0,2,3,1\n1,1,float32,0,1,2,1\n"),
            "r.csv:6:15: error: starts before the previous collective's 2\n"
            "  6 | 1,1,float32,0,1,2,1\n"
            "    |               ^\n"
            "hint: rows stand in the order of launch: sort them by start_s");
}

}  // namespace
}  // namespace ddpsim
