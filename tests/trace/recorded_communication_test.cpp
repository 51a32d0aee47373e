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

RecordedCommunication parse(const std::string& text) {
  return parse_recorded_communication({make_source("r.csv", text), text});
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

}  // namespace
}  // namespace ddpsim
