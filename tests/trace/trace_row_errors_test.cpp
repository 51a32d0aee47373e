// Every way in which the columns and rows of a layer trace can be wrong, with the whole message.
#include <gtest/gtest.h>

#include "sim/trace/trace_file.hpp"

#include "tests/support/errors.hpp"

namespace ddpsim {
namespace {

std::string error_of(const std::string& text) {
  return testing::input_error([&] { parse_trace({make_source("t.csv", text), text}); });
}

TEST(TraceRowErrors, NoHeaderLine) {
  EXPECT_EQ(error_of("# ddpsim-trace: 1\n"),
            "t.csv: error: has no header line; it is not a layer trace\n"
            "hint: is it the right file?");
}

TEST(TraceRowErrors, NoRows) {
  EXPECT_EQ(error_of("# ddpsim-trace: 1\n"
                     "gradient,elements,dtype,ready_s\n"),
            "t.csv: error: has no gradients\n"
            "hint: a layer trace has one row a gradient, in arrival order");
}

TEST(TraceRowErrors, MissingColumn) {
  EXPECT_EQ(error_of("# ddpsim-trace: 1\n"
                     "gradient,elements,ready_s\n"
                     "a,8,0.1\n"),
            "t.csv:2:1: error: no column 'dtype'\n"
            "  2 | gradient,elements,ready_s\n"
            "    | ^\n"
            "hint: the columns here are gradient, elements, ready_s");
}

TEST(TraceRowErrors, MisspeltColumn) {
  EXPECT_EQ(error_of("# ddpsim-trace: 1\n"
                     "gradient,element,dtype,ready_s\n"
                     "a,8,float32,0.1\n"),
            "t.csv:2:10: error: unknown column 'element'; did you mean 'elements'?\n"
            "  2 | gradient,element,dtype,ready_s\n"
            "    |          ^~~~~~~\n"
            "hint: the columns of a layer trace are gradient, elements, dtype, ready_s, ready_std_s, "
            "forward_s, parameter");
}

TEST(TraceRowErrors, UnknownColumn) {
  EXPECT_EQ(error_of("# ddpsim-trace: 1\n"
                     "gradient,elements,dtype,ready_s,layer\n"
                     "a,8,float32,0.1,h\n"),
            "t.csv:2:33: error: unknown column 'layer'\n"
            "  2 | gradient,elements,dtype,ready_s,layer\n"
            "    |                                 ^~~~~\n"
            "hint: the columns of a layer trace are gradient, elements, dtype, ready_s, ready_std_s, "
            "forward_s, parameter");
}

TEST(TraceRowErrors, ColumnTwice) {
  EXPECT_EQ(error_of("# ddpsim-trace: 1\n"
                     "gradient,elements,dtype,ready_s,dtype\n"
                     "a,8,float32,0.1,float32\n"),
            "t.csv:2:33: error: column 'dtype' appears twice\n"
            "  2 | gradient,elements,dtype,ready_s,dtype\n"
            "    |                                 ^~~~~\n"
            "hint: remove one");
}

TEST(TraceRowErrors, FieldTooMany) {
  EXPECT_EQ(error_of("# ddpsim-trace: 1\n"
                     "gradient,elements,dtype,ready_s\n"
                     "a,8,float32,0.1,7\n"),
            "t.csv:3:1: error: 5 fields where the header has 4\n"
            "  3 | a,8,float32,0.1,7\n"
            "    | ^~~~~~~~~~~~~~~~~\n"
            "hint: is the file cut off, or a comma missing?");
}

TEST(TraceRowErrors, LineCutOff) {
  EXPECT_EQ(error_of("# ddpsim-trace: 1\n"
                     "gradient,elements,dtype,ready_s\n"
                     "a,8,float32,0.1\n"
                     "b,8,flo"),
            "t.csv:4:1: error: 3 fields where the header has 4\n"
            "  4 | b,8,flo\n"
            "    | ^~~~~~~\n"
            "hint: is the file cut off, or a comma missing?");
}

TEST(TraceRowErrors, QuoteNeverClosed) {
  EXPECT_EQ(error_of("# ddpsim-trace: 1\n"
                     "gradient,elements,dtype,ready_s\n"
                     "\"a,8,float32,0.1\n"),
            "t.csv:3:1: error: a quote is never closed\n"
            "  3 | \"a,8,float32,0.1\n"
            "    | ^~~~~~~~~~~~~~~~\n"
            "hint: close it with \" on the same line");
}

TEST(TraceRowErrors, NoName) {
  EXPECT_EQ(error_of("# ddpsim-trace: 1\n"
                     "gradient,elements,dtype,ready_s\n"
                     ",8,float32,0.1\n"),
            "t.csv:3:1: error: no gradient name here\n"
            "  3 | ,8,float32,0.1\n"
            "    | ^\n"
            "hint: every gradient has one");
}

TEST(TraceRowErrors, NameTwice) {
  EXPECT_EQ(error_of("# ddpsim-trace: 1\n"
                     "gradient,elements,dtype,ready_s\n"
                     "a,8,float32,0.1\n"
                     "b,8,float32,0.2\n"
                     "a,8,float32,0.3\n"),
            "t.csv:5:1: error: gradient 'a' appears twice\n"
            "  5 | a,8,float32,0.3\n"
            "    | ^\n"
            "hint: it is first on line 3");
}

TEST(TraceRowErrors, ZeroElements) {
  EXPECT_EQ(error_of("# ddpsim-trace: 1\n"
                     "gradient,elements,dtype,ready_s\n"
                     "a,0,float32,0.1\n"),
            "t.csv:3:3: error: 0 is out of range\n"
            "  3 | a,0,float32,0.1\n"
            "    |   ^\n"
            "hint: write a number from 1 to 9007199254740992");
}

TEST(TraceRowErrors, NegativeElements) {
  EXPECT_EQ(error_of("# ddpsim-trace: 1\n"
                     "gradient,elements,dtype,ready_s\n"
                     "a,-8,float32,0.1\n"),
            "t.csv:3:3: error: -8 is out of range\n"
            "  3 | a,-8,float32,0.1\n"
            "    |   ^~\n"
            "hint: write a number from 1 to 9007199254740992");
}

TEST(TraceRowErrors, ElementsNotWhole) {
  EXPECT_EQ(error_of("# ddpsim-trace: 1\n"
                     "gradient,elements,dtype,ready_s\n"
                     "a,8.5,float32,0.1\n"),
            "t.csv:3:3: error: '8.5' is not a whole number\n"
            "  3 | a,8.5,float32,0.1\n"
            "    |   ^~~\n"
            "hint: write a whole number from 1 to 9007199254740992");
}

TEST(TraceRowErrors, ElementsAboveExactDoubles) {
  EXPECT_EQ(error_of("# ddpsim-trace: 1\n"
                     "gradient,elements,dtype,ready_s\n"
                     "a,9007199254740993,float32,0.1\n"),
            "t.csv:3:3: error: 9007199254740993 is out of range\n"
            "  3 | a,9007199254740993,float32,0.1\n"
            "    |   ^~~~~~~~~~~~~~~~\n"
            "hint: write a number from 1 to 9007199254740992");
}

TEST(TraceRowErrors, ElementsHuge) {
  EXPECT_EQ(error_of("# ddpsim-trace: 1\n"
                     "gradient,elements,dtype,ready_s\n"
                     "a,99999999999999999999,float32,0.1\n"),
            "t.csv:3:3: error: 99999999999999999999 is out of range\n"
            "  3 | a,99999999999999999999,float32,0.1\n"
            "    |   ^~~~~~~~~~~~~~~~~~~~\n"
            "hint: write a number from 1 to 9007199254740992");
}

TEST(TraceRowErrors, TooManyBytes) {
  EXPECT_EQ(error_of("# ddpsim-trace: 1\n"
                     "gradient,elements,dtype,ready_s\n"
                     "a,9007199254740992,float32,0.1\n"),
            "t.csv:3:3: error: the gradients up to here are more than 8 PiB\n"
            "  3 | a,9007199254740992,float32,0.1\n"
            "    |   ^~~~~~~~~~~~~~~~\n"
            "hint: check the element counts");
}

TEST(TraceRowErrors, UnknownDtype) {
  EXPECT_EQ(error_of("# ddpsim-trace: 1\n"
                     "gradient,elements,dtype,ready_s\n"
                     "a,8,float23,0.1\n"),
            "t.csv:3:5: error: unknown dtype 'float23'; did you mean 'float32'?\n"
            "  3 | a,8,float23,0.1\n"
            "    |     ^~~~~~~\n"
            "hint: the dtypes are float16, bfloat16, float32, float64");
}

TEST(TraceRowErrors, DtypeMissing) {
  EXPECT_EQ(error_of("# ddpsim-trace: 1\n"
                     "gradient,elements,dtype,ready_s\n"
                     "a,8,,0.1\n"),
            "t.csv:3:5: error: no dtype here\n"
            "  3 | a,8,,0.1\n"
            "    |     ^\n"
            "hint: every gradient has one");
}

TEST(TraceRowErrors, ReadyNotANumber) {
  EXPECT_EQ(error_of("# ddpsim-trace: 1\n"
                     "gradient,elements,dtype,ready_s\n"
                     "a,8,float32,soon\n"),
            "t.csv:3:13: error: 'soon' is not a number\n"
            "  3 | a,8,float32,soon\n"
            "    |             ^~~~\n"
            "hint: write it like 1.5");
}

TEST(TraceRowErrors, ReadyWithUnit) {
  EXPECT_EQ(error_of("# ddpsim-trace: 1\n"
                     "gradient,elements,dtype,ready_s\n"
                     "a,8,float32,0.1s\n"),
            "t.csv:3:16: error: '0.1s' is not a plain number\n"
            "  3 | a,8,float32,0.1s\n"
            "    |                ^\n"
            "hint: write the bare number, without a unit");
}

TEST(TraceRowErrors, ReadyNan) {
  EXPECT_EQ(error_of("# ddpsim-trace: 1\n"
                     "gradient,elements,dtype,ready_s\n"
                     "a,8,float32,nan\n"),
            "t.csv:3:13: error: 'nan' is not a finite number\n"
            "  3 | a,8,float32,nan\n"
            "    |             ^~~\n"
            "hint: write a number like 1.5");
}

TEST(TraceRowErrors, ReadyInfinite) {
  EXPECT_EQ(error_of("# ddpsim-trace: 1\n"
                     "gradient,elements,dtype,ready_s\n"
                     "a,8,float32,inf\n"),
            "t.csv:3:13: error: 'inf' is not a finite number\n"
            "  3 | a,8,float32,inf\n"
            "    |             ^~~\n"
            "hint: write a number like 1.5");
}

TEST(TraceRowErrors, ReadyNegative) {
  EXPECT_EQ(error_of("# ddpsim-trace: 1\n"
                     "gradient,elements,dtype,ready_s\n"
                     "a,8,float32,-0.1\n"),
            "t.csv:3:13: error: -0.1 is outside [0, 1000000000]\n"
            "  3 | a,8,float32,-0.1\n"
            "    |             ^~~~\n"
            "hint: write a number in that range");
}

TEST(TraceRowErrors, ReadyMissing) {
  EXPECT_EQ(error_of("# ddpsim-trace: 1\n"
                     "gradient,elements,dtype,ready_s\n"
                     "a,8,float32,\n"),
            "t.csv:3:13: error: no ready_s here\n"
            "  3 | a,8,float32,\n"
            "    |             ^\n"
            "hint: every gradient has one");
}

TEST(TraceRowErrors, ReadyDecreases) {
  EXPECT_EQ(error_of("# ddpsim-trace: 1\n"
                     "gradient,elements,dtype,ready_s\n"
                     "a,8,float32,0.1\n"
                     "b,8,float32,0.09\n"),
            "t.csv:4:13: error: ready_s is before the previous gradient's 0.1\n"
            "  4 | b,8,float32,0.09\n"
            "    |             ^~~~\n"
            "hint: rows stand in arrival order: sort them by ready_s");
}

TEST(TraceRowErrors, SpreadNegative) {
  EXPECT_EQ(error_of("# ddpsim-trace: 1\n"
                     "gradient,elements,dtype,ready_s,ready_std_s\n"
                     "a,8,float32,0.1,-1\n"),
            "t.csv:3:17: error: -1 is outside [0, 1000000000]\n"
            "  3 | a,8,float32,0.1,-1\n"
            "    |                 ^~\n"
            "hint: write a number in that range");
}

TEST(TraceRowErrors, SpreadNan) {
  EXPECT_EQ(error_of("# ddpsim-trace: 1\n"
                     "gradient,elements,dtype,ready_s,ready_std_s\n"
                     "a,8,float32,0.1,NaN\n"),
            "t.csv:3:17: error: 'NaN' is not a finite number\n"
            "  3 | a,8,float32,0.1,NaN\n"
            "    |                 ^~~\n"
            "hint: write a number like 1.5");
}

TEST(TraceRowErrors, ParameterOutOfRange) {
  EXPECT_EQ(error_of("# ddpsim-trace: 1\n"
                     "gradient,elements,dtype,ready_s,parameter\n"
                     "a,8,float32,0.1,1\n"
                     "b,8,float32,0.1,2\n"),
            "t.csv:4:17: error: parameter 2 of 2 gradients\n"
            "  4 | b,8,float32,0.1,2\n"
            "    |                 ^\n"
            "hint: each of 0 to 1 stands once; was the file cut short?");
}

TEST(TraceRowErrors, ParameterTwice) {
  EXPECT_EQ(error_of("# ddpsim-trace: 1\n"
                     "gradient,elements,dtype,ready_s,parameter\n"
                     "a,8,float32,0.1,1\n"
                     "b,8,float32,0.1,1\n"),
            "t.csv:4:17: error: parameter 1 appears twice\n"
            "  4 | b,8,float32,0.1,1\n"
            "    |                 ^\n"
            "hint: it is first on line 3; each of 0 to 1 stands once");
}

TEST(TraceRowErrors, ParameterMissing) {
  EXPECT_EQ(error_of("# ddpsim-trace: 1\n"
                     "gradient,elements,dtype,ready_s,parameter\n"
                     "a,8,float32,0.1,\n"),
            "t.csv:3:17: error: no parameter here\n"
            "  3 | a,8,float32,0.1,\n"
            "    |                 ^\n"
            "hint: every gradient has one");
}

}  // namespace
}  // namespace ddpsim
