// Every way in which the comment lines of a layer trace can be wrong, with the whole message.
#include <gtest/gtest.h>

#include "sim/trace/trace_file.hpp"

#include "tests/support/errors.hpp"

namespace ddpsim {
namespace {

std::string error_of(const std::string& text) {
  return testing::input_error([&] { parse_trace({make_source("t.csv", text), text}); });
}

TEST(TraceHeaderErrors, MissingVersion) {
  EXPECT_EQ(error_of("# model: tiny\n"
                     "gradient,elements,dtype,ready_s\n"
                     "a,8,float32,0.1\n"),
            "t.csv: error: has no line '# ddpsim-trace: 1'; it is not a layer trace\n"
            "hint: is it the right file? That line comes first");
}

TEST(TraceHeaderErrors, OtherVersion) {
  EXPECT_EQ(error_of("# ddpsim-trace: 3\n"
                     "# colour: red\n"
                     "gradient,elements,dtype,ready_s\n"
                     "a,8,float32,0.1\n"),
            "t.csv:1:17: error: ddpsim-trace version '3' is not known\n"
            "  1 | # ddpsim-trace: 3\n"
            "    |                 ^\n"
            "hint: this program reads versions 1 to 2");
}

TEST(TraceHeaderErrors, VersionWithoutValue) {
  EXPECT_EQ(error_of("# ddpsim-trace\n"
                     "gradient,elements,dtype,ready_s\n"
                     "a,8,float32,0.1\n"),
            "t.csv:1:2: error: ddpsim-trace version '' is not known\n"
            "  1 | # ddpsim-trace\n"
            "    |  ^~~~~~~~~~~~~\n"
            "hint: this program reads versions 1 to 2");
}

TEST(TraceHeaderErrors, VersionTwice) {
  EXPECT_EQ(error_of("# ddpsim-trace: 1\n"
                     "# ddpsim-trace: 1\n"
                     "gradient,elements,dtype,ready_s\n"
                     "a,8,float32,0.1\n"),
            "t.csv:2:3: error: header key 'ddpsim-trace' appears twice\n"
            "  2 | # ddpsim-trace: 1\n"
            "    |   ^~~~~~~~~~~~\n"
            "hint: it is first on line 1; remove one");
}

TEST(TraceHeaderErrors, FewerRowsThanTheHeaderSays) {
  EXPECT_EQ(error_of("# ddpsim-trace: 1\n"
                     "# gradients: 2\n"
                     "# elements: 12\n"
                     "gradient,elements,dtype,ready_s\n"
                     "a,8,float32,0.1\n"),
            "t.csv:2:14: error: the header says 2 gradients, and 1 follow\n"
            "  2 | # gradients: 2\n"
            "    |              ^\n"
            "hint: was the file cut short? If it was changed on purpose, correct this line or remove it");
}

TEST(TraceHeaderErrors, OtherElementsThanTheHeaderSays) {
  EXPECT_EQ(error_of("# ddpsim-trace: 1\n"
                     "# gradients: 1\n"
                     "# elements: 12\n"
                     "gradient,elements,dtype,ready_s\n"
                     "a,8,float32,0.1\n"),
            "t.csv:3:13: error: the header says 12 elements, and 8 follow\n"
            "  3 | # elements: 12\n"
            "    |             ^~\n"
            "hint: was the file cut short? If it was changed on purpose, correct this line or remove it");
}

TEST(TraceHeaderErrors, ABroadcastOfNothing) {
  EXPECT_EQ(error_of("# ddpsim-trace: 1\n"
                     "# buffers: 4kB 0B\n"
                     "gradient,elements,dtype,ready_s\n"
                     "a,8,float32,0.1\n"),
            "t.csv:2:16: error: a broadcast of no bytes\n"
            "  2 | # buffers: 4kB 0B\n"
            "    |                ^~\n"
            "hint: remove it; buffers are what DDP broadcasts");
}

TEST(TraceHeaderErrors, GradientsThatAreAllReadyAtOnce) {
  EXPECT_EQ(error_of("# ddpsim-trace: 1\n"
                     "gradient,elements,dtype,ready_s\n"
                     "a,8,float32,0\n"),
            "t.csv:3:13: error: all gradients are ready at 0: the backward pass has no times\n"
            "  3 | a,8,float32,0\n"
            "    |             ^\n"
            "hint: ready_s counts in seconds from the start of the backward pass");
}

TEST(TraceHeaderErrors, MisspeltKey) {
  EXPECT_EQ(error_of("# ddpsim-trace: 1\n"
                     "# foward: 3ms\n"
                     "gradient,elements,dtype,ready_s\n"
                     "a,8,float32,0.1\n"),
            "t.csv:2:3: error: unknown header key 'foward'; did you mean 'forward'?\n"
            "  2 | # foward: 3ms\n"
            "    |   ^~~~~~\n"
            "hint: the keys are ddpsim-trace, model, device, batch_size, sequence_length, torch, forward, "
            "optimizer, buffers, gradients, elements, source, captured, synthetic; a remark has no ':' after "
            "its first word");
}

TEST(TraceHeaderErrors, UnknownKey) {
  EXPECT_EQ(error_of("# ddpsim-trace: 1\n"
                     "# colour: red\n"
                     "gradient,elements,dtype,ready_s\n"
                     "a,8,float32,0.1\n"),
            "t.csv:2:3: error: unknown header key 'colour'\n"
            "  2 | # colour: red\n"
            "    |   ^~~~~~\n"
            "hint: the keys are ddpsim-trace, model, device, batch_size, sequence_length, torch, forward, "
            "optimizer, buffers, gradients, elements, source, captured, synthetic; a remark has no ':' after "
            "its first word");
}

TEST(TraceHeaderErrors, KeyInTheWrongCase) {
  EXPECT_EQ(error_of("# ddpsim-trace: 1\n"
                     "# Model: tiny\n"
                     "gradient,elements,dtype,ready_s\n"
                     "a,8,float32,0.1\n"),
            "t.csv:2:3: error: unknown header key 'Model'; did you mean 'model'?\n"
            "  2 | # Model: tiny\n"
            "    |   ^~~~~\n"
            "hint: the keys are ddpsim-trace, model, device, batch_size, sequence_length, torch, forward, "
            "optimizer, buffers, gradients, elements, source, captured, synthetic; a remark has no ':' after "
            "its first word");
}

TEST(TraceHeaderErrors, KeyTwice) {
  EXPECT_EQ(error_of("# ddpsim-trace: 1\n"
                     "# model: a\n"
                     "# model: b\n"
                     "gradient,elements,dtype,ready_s\n"
                     "a,8,float32,0.1\n"),
            "t.csv:3:3: error: header key 'model' appears twice\n"
            "  3 | # model: b\n"
            "    |   ^~~~~\n"
            "hint: it is first on line 2; remove one");
}

TEST(TraceHeaderErrors, SourceTwice) {
  EXPECT_EQ(error_of("# ddpsim-trace: 1\n"
                     "# source: a\n"
                     "# source: b\n"
                     "gradient,elements,dtype,ready_s\n"
                     "a,8,float32,0.1\n"),
            "t.csv:3:3: error: header key 'source' appears twice\n"
            "  3 | # source: b\n"
            "    |   ^~~~~~\n"
            "hint: it is first on line 2; remove one");
}

TEST(TraceHeaderErrors, KeyWithoutValue) {
  EXPECT_EQ(error_of("# ddpsim-trace: 1\n"
                     "# device:\n"
                     "gradient,elements,dtype,ready_s\n"
                     "a,8,float32,0.1\n"),
            "t.csv:2:3: error: header key 'device' has no value\n"
            "  2 | # device:\n"
            "    |   ^~~~~~\n"
            "hint: give it a value or remove the line");
}

TEST(TraceHeaderErrors, ForwardWithoutUnit) {
  EXPECT_EQ(error_of("# ddpsim-trace: 1\n"
                     "# forward: 397.5\n"
                     "gradient,elements,dtype,ready_s\n"
                     "a,8,float32,0.1\n"),
            "t.csv:2:12: error: '397.5' has no unit\n"
            "  2 | # forward: 397.5\n"
            "    |            ^~~~~\n"
            "hint: write a time like 5us");
}

TEST(TraceHeaderErrors, ForwardOfAnotherDimension) {
  EXPECT_EQ(error_of("# ddpsim-trace: 1\n"
                     "# forward: 25MiB\n"
                     "gradient,elements,dtype,ready_s\n"
                     "a,8,float32,0.1\n"),
            "t.csv:2:14: error: '25MiB' is a size, not a time\n"
            "  2 | # forward: 25MiB\n"
            "    |              ^~~\n"
            "hint: write a time like 5us");
}

TEST(TraceHeaderErrors, OptimizerNegative) {
  EXPECT_EQ(error_of("# ddpsim-trace: 1\n"
                     "# optimizer: -1ms\n"
                     "gradient,elements,dtype,ready_s\n"
                     "a,8,float32,0.1\n"),
            "t.csv:2:14: error: '-1ms' is negative\n"
            "  2 | # optimizer: -1ms\n"
            "    |              ^~~~\n"
            "hint: a time cannot be negative");
}

TEST(TraceHeaderErrors, OptimizerNotANumber) {
  EXPECT_EQ(error_of("# ddpsim-trace: 1\n"
                     "# optimizer: fast\n"
                     "gradient,elements,dtype,ready_s\n"
                     "a,8,float32,0.1\n"),
            "t.csv:2:14: error: 'fast' is not a time\n"
            "  2 | # optimizer: fast\n"
            "    |              ^~~~\n"
            "hint: write it like 5us");
}

TEST(TraceHeaderErrors, BatchOfZero) {
  EXPECT_EQ(error_of("# ddpsim-trace: 1\n"
                     "# batch_size: 0\n"
                     "gradient,elements,dtype,ready_s\n"
                     "a,8,float32,0.1\n"),
            "t.csv:2:15: error: 0 is out of range\n"
            "  2 | # batch_size: 0\n"
            "    |               ^\n"
            "hint: write a number from 1 to 1000000000");
}

TEST(TraceHeaderErrors, SequenceLengthNotWhole) {
  EXPECT_EQ(error_of("# ddpsim-trace: 1\n"
                     "# sequence_length: 1024.5\n"
                     "gradient,elements,dtype,ready_s\n"
                     "a,8,float32,0.1\n"),
            "t.csv:2:20: error: '1024.5' is not a whole number\n"
            "  2 | # sequence_length: 1024.5\n"
            "    |                    ^~~~~~\n"
            "hint: write a whole number from 1 to 1000000000");
}

}  // namespace
}  // namespace ddpsim
