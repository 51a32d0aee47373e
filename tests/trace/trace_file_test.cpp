#include "sim/trace/trace_file.hpp"

#include <cmath>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/check.hpp"

#include "tests/support/errors.hpp"

namespace ddpsim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

LayerTrace parse(const std::string& text) {
  return parse_trace({make_source("t.csv", text), text});
}

LayerTrace two_gradients() {
  LayerTrace trace;
  trace.gradients = {{"head.weight", 6, DType::float32, Seconds(0.25), {}},
                     {"body.weight", 4, DType::float16, Seconds(0.5), {}}};
  trace.registration_order = {1, 0};
  return trace;
}

TEST(TraceFile, ReadsEveryHeaderKeyAndColumn) {
  auto trace = parse(
      "# ddpsim-trace: 1\n"
      "# model: tiny\n"
      "# device: A: B\n"
      "# batch_size: 4\n"
      "# sequence_length: 1024\n"
      "# torch: 2.6.0\n"
      "# forward: 397.5ms\n"
      "# optimizer: 2s\n"
      "# source: where, and how: by hand\n"
      "# captured: 2025-03-01\n"
      "gradient,elements,dtype,ready_s,ready_std_s,parameter\n"
      "c,3,float32,0.1,0.01,1\n"
      "b,2,bfloat16,0.1,,2\n"
      "\"a, x\",1,float64,2e-1,0,0\n");
  EXPECT_EQ(trace.metadata.model, "tiny");
  EXPECT_EQ(trace.metadata.device, "A: B");
  EXPECT_EQ(trace.metadata.batch_size, 4);
  EXPECT_EQ(trace.metadata.sequence_length, 1024);
  EXPECT_EQ(trace.metadata.torch, "2.6.0");
  EXPECT_EQ(trace.metadata.source, "where, and how: by hand");
  EXPECT_EQ(trace.metadata.captured, "2025-03-01");
  EXPECT_THAT(trace.metadata.notes, IsEmpty());
  EXPECT_EQ(trace.forward, Seconds(397.5 * 1e-3));
  EXPECT_EQ(trace.optimizer, Seconds(2));
  EXPECT_THAT(trace.gradients, ElementsAre(Gradient{"c", 3, DType::float32, Seconds(0.1), Seconds(0.01)},
                                           Gradient{"b", 2, DType::bfloat16, Seconds(0.1), {}},
                                           Gradient{"a, x", 1, DType::float64, Seconds(0.2), Seconds(0)}));
  // Parameter 0 is row 2 ("a, x"), parameter 1 row 0, parameter 2 row 1.
  EXPECT_THAT(trace.registration_order, ElementsAre(2, 0, 1));
  EXPECT_EQ(trace.bytes(), Bytes(3 * 4 + 2 * 2 + 1 * 8));
}

TEST(TraceFile, AbsentKeysStayEmptyAndRegistrationIsTheReverseOfArrival) {
  auto trace = parse("# ddpsim-trace: 1\ngradient,elements,dtype,ready_s\nb,1,float32,0\na,1,float32,1\n");
  EXPECT_EQ(trace.metadata, TraceMetadata());
  EXPECT_FALSE(trace.forward);
  EXPECT_FALSE(trace.optimizer);
  EXPECT_FALSE(trace.gradients[0].ready_spread);
  EXPECT_THAT(trace.registration_order, ElementsAre(1, 0));
}

TEST(TraceFile, ColumnsMayStandInAnyOrder) {
  auto trace = parse("# ddpsim-trace: 1\nready_s,dtype,gradient,elements\n0.5,float32,a,7\n");
  EXPECT_THAT(trace.gradients, ElementsAre(Gradient{"a", 7, DType::float32, Seconds(0.5), {}}));
}

TEST(TraceFile, WindowsLineEndsBlankLinesAndByteOrderMarkAreFine) {
  auto trace = parse(
      "\xEF\xBB\xBF# ddpsim-trace: 1\r\n# a "
      "remark\r\n\r\ngradient,elements,dtype,ready_s\r\na,7,float32,0.5\r\n\r\n");
  EXPECT_THAT(trace.gradients, ElementsAre(Gradient{"a", 7, DType::float32, Seconds(0.5), {}}));
  EXPECT_THAT(trace.metadata.notes, ElementsAre("a remark"));
}

TEST(TraceFile, FreeTextCommentsAreKeptAsNotes) {
  auto trace = parse(
      "# ddpsim-trace: 1\n"
      "#\n"
      "#   measured twice  \n"
      "# see also: https://example.org/a:b\n"
      "# : no key\n"
      "gradient,elements,dtype,ready_s\n"
      "# between rows\n"
      "a,7,float32,0.5\n");
  EXPECT_THAT(trace.metadata.notes,
              ElementsAre("measured twice", "see also: https://example.org/a:b", ": no key", "between rows"));
}

TEST(TraceFile, WritesTheShortestText) {
  auto trace = two_gradients();
  trace.metadata.model = "tiny";
  trace.metadata.notes = {"a remark"};
  trace.forward = Seconds(0.3974653525);
  EXPECT_EQ(write_trace(trace),
            "# ddpsim-trace: 1\n"
            "# model: tiny\n"
            "# forward: 397.4653525ms\n"
            "# gradients: 2\n"
            "# elements: 10\n"
            "# a remark\n"
            "gradient,elements,dtype,ready_s,parameter\n"
            "head.weight,6,float32,0.25,1\n"
            "body.weight,4,float16,0.5,0\n");
}

TEST(TraceFile, AGuessedRegistrationIsNotWritten) {
  auto trace =
      parse("# ddpsim-trace: 1\ngradient,elements,dtype,ready_s\na,7,float32,0.25\nb,7,float32,0.5\n");
  EXPECT_TRUE(trace.registration_guessed);
  EXPECT_THAT(trace.registration_order, ElementsAre(1, 0));
  EXPECT_THAT(write_trace(trace), HasSubstr("gradient,elements,dtype,ready_s\n"));
  EXPECT_FALSE(parse("# ddpsim-trace: 1\ngradient,elements,dtype,ready_s,parameter\na,7,float32,0.25,0\n")
                   .registration_guessed);
}

TEST(TraceFile, BuffersAreOneSizePerBroadcast) {
  auto trace = parse(
      "# ddpsim-trace: 1\n# buffers: 212480B  424B\ngradient,elements,dtype,ready_s\na,7,float32,0.25\n");
  EXPECT_THAT(trace.buffers, ElementsAre(Bytes(212480), Bytes(424)));
  EXPECT_THAT(write_trace(trace), HasSubstr("# buffers: 212480B 424B\n"));
}

TEST(TraceFile, OptionalColumnsAreWrittenWhereTheySaySomething) {
  auto trace = two_gradients();
  trace.gradients[1].ready_spread = Seconds(1e-7);
  trace.registration_order = {0, 1};  // as they arrive: not the reverse
  EXPECT_EQ(write_trace(trace),
            "# ddpsim-trace: 1\n"
            "# gradients: 2\n"
            "# elements: 10\n"
            "gradient,elements,dtype,ready_s,ready_std_s,parameter\n"
            "head.weight,6,float32,0.25,,0\n"
            "body.weight,4,float16,0.5,1e-07,1\n");
}

// Where each layer's forward pass ends makes a file of version 2; without it nothing changes.
TEST(TraceFile, ForwardTimesMakeVersion2) {
  auto trace = two_gradients();
  trace.forward = Seconds(0.125);
  EXPECT_THAT(write_trace(trace), StartsWith("# ddpsim-trace: 1\n"));
  trace.gradients[0].forward_end = Seconds(0.125);
  trace.gradients[1].forward_end = Seconds(0.0625);
  auto text = write_trace(trace);
  EXPECT_EQ(text,
            "# ddpsim-trace: 2\n"
            "# forward: 125ms\n"
            "# gradients: 2\n"
            "# elements: 10\n"
            "gradient,elements,dtype,ready_s,forward_s,parameter\n"
            "head.weight,6,float32,0.25,0.125,1\n"
            "body.weight,4,float16,0.5,0.0625,0\n");
  EXPECT_EQ(parse(text), trace);
}

TEST(TraceFile, Version2NeedsNoForwardTimes) {
  auto trace = parse("# ddpsim-trace: 2\ngradient,elements,dtype,ready_s\na,7,float32,0.5\n");
  EXPECT_FALSE(trace.has_forward_ends());
  EXPECT_THAT(write_trace(trace), StartsWith("# ddpsim-trace: 1\n"));
}

TEST(TraceFile, ReadsBackExactlyWhatItWrote) {
  LayerTrace trace;
  trace.metadata = {"m: 1",
                    "d, \"x\"",
                    "2.6",
                    "s # t",
                    "today",
                    1,
                    1'000'000'000,
                    {"free text", "two words: and a colon", "#"},
                    "roofline: half of it"};
  trace.forward = Seconds(1.0 / 3);
  trace.optimizer = Seconds(0);
  trace.gradients = {{"plain", 1, DType::float16, Seconds(0), Seconds(1.0 / 7)},
                     {"with, comma", std::int64_t{1} << 49, DType::float64, Seconds(5e-324), {}},
                     {"with \"quotes\"", 3, DType::bfloat16, Seconds(0.1), Seconds(0)},
                     {"# not a comment", 3, DType::float32, Seconds(0.1), {}},
                     {" blanks around ", 3, DType::float32, Seconds(0.30000000000000004), {}},
                     {"\"", 3, DType::float32, Seconds(1e9), {}},
                     {"gr\xC3\xBC\xC3\x9F", 3, DType::float32, Seconds(1e9), {}}};
  trace.registration_order = {3, 1, 4, 0, 5, 2, 6};
  auto text = write_trace(trace);
  EXPECT_EQ(parse(text), trace) << text;
  EXPECT_EQ(write_trace(parse(text)), text);
}

// A value in ms is a product with 1e-3, which does not give every double: those are written in seconds.
TEST(TraceFile, ForwardAndOptimizerReadBackAsTheSameDouble) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> exponent(-12, 8.9);
  auto trace = two_gradients();
  int in_seconds = 0;
  for (int i = 0; i < 2000; ++i) {
    trace.forward = Seconds(std::pow(10.0, exponent(random)));
    trace.optimizer = Seconds(0.05 + 1e-7 * i);
    auto text = write_trace(trace);
    ASSERT_EQ(parse(text), trace) << text;
    if (trace.forward->value() < 1 && text.find("ms\n# optimizer") == std::string::npos) ++in_seconds;
  }
  EXPECT_GT(in_seconds, 0);  // the fallback was needed
}

TEST(TraceFile, MetadataThatCannotStandOnALineIsTheUsersMistake) {
  auto trace = two_gradients();
  trace.metadata.device = "two\nlines";
  EXPECT_EQ(testing::input_error([&] { return write_trace(trace); }),
            "error: the trace's device 'two\nlines' cannot be written as a header line\n"
            "hint: it must be one line of text without blanks around it");
  trace.metadata.device = " A100";
  EXPECT_THAT(testing::input_error([&] { return write_trace(trace); }),
              StartsWith("error: the trace's device ' A100'"));
  trace.metadata.device = "";
  EXPECT_THAT(testing::input_error([&] { return write_trace(trace); }),
              StartsWith("error: the trace's device ''"));
}

TEST(TraceFile, AnEstimateSaysSo) {
  auto trace = two_gradients();
  EXPECT_THAT(write_trace(trace), ::testing::Not(HasSubstr("synthetic")));
  trace.metadata.synthetic = "roofline, efficiency 0.5";
  trace.metadata.totals = "given";
  auto text = write_trace(trace);
  EXPECT_THAT(text, HasSubstr("\n# synthetic: roofline, efficiency 0.5\n# totals: given\n"));
  EXPECT_EQ(parse_trace({make_source("t.csv", text), text}), trace);
}

TEST(TraceFile, BrokenPromisesAreInternalErrors) {
  auto broken = [](auto&& change) {
    auto trace = two_gradients();
    change(trace);
    try {
      write_trace(trace);
    } catch (const InternalError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_THAT(broken([](auto& t) { t.gradients.clear(); }), HasSubstr("a trace without gradients"));
  EXPECT_THAT(broken([](auto& t) { t.gradients[1].ready = Seconds(0.1); }),
              HasSubstr("not in arrival order"));
  EXPECT_THAT(broken([](auto& t) { t.gradients[0].ready = Seconds(std::nan("")); }),
              HasSubstr("not in arrival order"));
  EXPECT_THAT(broken([](auto& t) { t.gradients[0].elements = 0; }), HasSubstr("no valid size"));
  EXPECT_THAT(broken([](auto& t) { t.gradients[0].name = "a\nb"; }), HasSubstr("not one line"));
  EXPECT_THAT(broken([](auto& t) { t.registration_order = {0, 0}; }), HasSubstr("not a permutation"));
  EXPECT_THAT(broken([](auto& t) { t.forward = Seconds(-1); }),
              HasSubstr("forward or optimizer is not a time"));
  EXPECT_THAT(broken([](auto& t) { t.gradients[1].forward_end = Seconds(0); }),
              HasSubstr("some gradients have a forward time and some have none"));
  EXPECT_THAT(broken([](auto& t) {
                t.forward = Seconds(1);
                t.gradients[0].forward_end = t.gradients[1].forward_end = Seconds(2);
              }),
              HasSubstr("head.weight's layer is not within the forward pass"));
  EXPECT_THAT(broken([](auto& t) { t.metadata.notes = {"remark: x"}; }), HasSubstr("read as a header key"));
}

}  // namespace
}  // namespace ddpsim
