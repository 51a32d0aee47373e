// Every way in which the tables of layer sizes and times can be wrong, with the whole message. The tables are
// those of gpt2 (12 blocks, width 768) with one piece of text replaced.
#include <gtest/gtest.h>

#include "sim/trace/import/layer_times.hpp"

#include "tests/support/errors.hpp"
#include "tests/trace/import/layer_times_tables.hpp"

namespace ddpsim {
namespace {

// Replaces the first `from`, which must be there.
std::string replaced(std::string text, const std::string& from, const std::string& to) {
  auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

std::string import_error(const std::string& sizes, const std::string& times,
                         const std::string& statistic = "mean") {
  testing::LayerTimesTables tables(sizes, times);
  tables.import.statistic = statistic;
  return tables.without_folder(testing::input_error([&] { import_layer_times(tables.import); }));
}

std::string sizes() {
  return testing::sizes_table(gpt2_presets()[0]);
}
std::string times() {
  return testing::times_table(gpt2_presets()[0], {});
}

TEST(LayerTimesErrors, UnknownStatistic) {
  EXPECT_EQ(import_error(sizes(), times(), "mode"),
            "error: unknown statistic 'mode'\n"
            "hint: the statistics are mean and median");
}

TEST(LayerTimesErrors, BlockMissing) {
  EXPECT_EQ(import_error(replaced(sizes(), "5,Block 3,7087872\n", ""), times()),
            "sizes.csv: error: has no row 'Block 3'\n"
            "hint: the rows are Token embedding, Position embedding, Block 0 to Block 11, LayerNorm final "
            "and LM head");
}

TEST(LayerTimesErrors, BlockTwice) {
  EXPECT_EQ(import_error(replaced(sizes(), "6,Block 4,", "6,Block 3,"), times()),
            "sizes.csv:8:3: error: row 'Block 3' appears twice\n"
            "  8 | 6,Block 3,7087872\n"
            "    |   ^~~~~~~\n"
            "hint: it is first on line 7");
}

TEST(LayerTimesErrors, BlockTooMany) {
  EXPECT_EQ(
      import_error(replaced(sizes(), "13,Block 11,7087872\n", "13,Block 11,7087872\n13,Block 12,7087872\n"),
                   times()),
      "sizes.csv:16:4: error: no GPT-2 ends with 'Block 12'\n"
      "  16 | 13,Block 12,7087872\n"
      "     |    ^~~~~~~~\n"
      "hint: the last is 'Block 11' in gpt2, 'Block 23' in gpt2-medium, 'Block 35' in gpt2-large, 'Block 47' "
      "in gpt2-xl");
}

TEST(LayerTimesErrors, NoBlocks) {
  EXPECT_EQ(import_error(",Name,No. Params\n0,Token embedding,38597376\n", times()),
            "sizes.csv: error: has no rows 'Block 0', 'Block 1' and so on\n"
            "hint: the last is 'Block 11' in gpt2, 'Block 23' in gpt2-medium, 'Block 35' in gpt2-large, "
            "'Block 47' in gpt2-xl");
}

TEST(LayerTimesErrors, SizeUnknownRow) {
  EXPECT_EQ(import_error(replaced(sizes(), "LayerNorm final", "LayerNorm finale"), times()),
            "sizes.csv:16:4: error: unknown row 'LayerNorm finale'; did you mean 'LayerNorm final'?\n"
            "  16 | 14,LayerNorm finale,1536\n"
            "     |    ^~~~~~~~~~~~~~~~\n"
            "hint: the rows are Token embedding, Position embedding, Block 0 to Block 11, LayerNorm final "
            "and LM head");
}

TEST(LayerTimesErrors, SizeOfAnotherModel) {
  EXPECT_EQ(import_error(replaced(sizes(), "38597376", "51463168"), times()),
            "sizes.csv:2:19: error: Token embedding of gpt2 has 38597376 parameters, not 51463168\n"
            "  2 | 0,Token embedding,51463168\n"
            "    |                   ^~~~~~~~\n"
            "hint: with 12 blocks the width is 768");
}

TEST(LayerTimesErrors, PositionsOfAnotherModel) {
  EXPECT_EQ(import_error(replaced(sizes(), "786432", "1572864"), times()),
            "sizes.csv:3:22: error: Position embedding of gpt2 has 786432 parameters, not 1572864\n"
            "  3 | 1,Position embedding,1572864\n"
            "    |                      ^~~~~~~\n"
            "hint: with 12 blocks the width is 768");
}

TEST(LayerTimesErrors, BlockOfAnotherWidth) {
  EXPECT_EQ(import_error(replaced(sizes(), "Block 7,7087872", "Block 7,7087873"), times()),
            "sizes.csv:11:11: error: Block 7 of gpt2 has 7087872 parameters, not 7087873\n"
            "  11 | 9,Block 7,7087873\n"
            "     |           ^~~~~~~\n"
            "hint: with 12 blocks the width is 768");
}

TEST(LayerTimesErrors, SizeNotWhole) {
  EXPECT_EQ(import_error(replaced(sizes(), "Block 7,7087872", "Block 7,7.0e6"), times()),
            "sizes.csv:11:11: error: '7.0e6' is not a whole number\n"
            "  11 | 9,Block 7,7.0e6\n"
            "     |           ^~~~~\n"
            "hint: write a whole number from 1 to 9007199254740992");
}

TEST(LayerTimesErrors, SizesWithoutColumn) {
  EXPECT_EQ(import_error(replaced(sizes(), "No. Params", "Params"), times()),
            "sizes.csv:1:1: error: no column 'No. Params'\n"
            "  1 | ,Name,Params\n"
            "    | ^\n"
            "hint: the columns here are , Name, Params");
}

TEST(LayerTimesErrors, HeadMissing) {
  EXPECT_EQ(import_error(replaced(sizes(), "15,LM head,38597376\n", ""), times()),
            "sizes.csv: error: has no row 'LM head'\n"
            "hint: the rows are Token embedding, Position embedding, Block 0 to Block 11, LayerNorm final "
            "and LM head");
}

TEST(LayerTimesErrors, TimeRowMissing) {
  EXPECT_EQ(import_error(sizes(), replaced(times(), "block_7 grad,1,4,2,1.2,20\n", "")),
            "times.csv: error: has no row 'block_7 grad'\n"
            "hint: the rows are forward, lm_head grad, ln_f grad, block_0 grad to block_11 grad and step");
}

TEST(LayerTimesErrors, ForwardMissing) {
  EXPECT_EQ(import_error(sizes(), replaced(times(), "forward,10,40,20,0.1,200\n", "")),
            "times.csv: error: has no row 'forward'\n"
            "hint: the rows are forward, lm_head grad, ln_f grad, block_0 grad to block_11 grad and step");
}

TEST(LayerTimesErrors, TimeRowTwice) {
  EXPECT_EQ(import_error(sizes(), replaced(times(), "block_8 grad", "block_7 grad")),
            "times.csv:11:1: error: row 'block_7 grad' appears twice\n"
            "  11 | block_7 grad,1,4,2,1.2,20\n"
            "     | ^~~~~~~~~~~~\n"
            "hint: it is first on line 10");
}

TEST(LayerTimesErrors, TimeRowUnknown) {
  EXPECT_EQ(import_error(sizes(), replaced(times(), "block_7 grad", "block_7 grads")),
            "times.csv:10:1: error: unknown row 'block_7 grads'; did you mean 'block_7 grad'?\n"
            "  10 | block_7 grads,1,4,2,1.2,20\n"
            "     | ^~~~~~~~~~~~~\n"
            "hint: the rows are forward, lm_head grad, ln_f grad, block_0 grad to block_11 grad and step");
}

TEST(LayerTimesErrors, TimeZero) {
  EXPECT_EQ(import_error(sizes(), replaced(times(), "step,1.5,6,3,", "step,1.5,6,0,")),
            "times.csv:18:12: error: a time of zero\n"
            "  18 | step,1.5,6,0,0.1,30\n"
            "     |            ^\n"
            "hint: a recorded time is above zero seconds");
}

TEST(LayerTimesErrors, TimeNegative) {
  EXPECT_EQ(import_error(sizes(), replaced(times(), "ln_f grad,0.25,1,0.5,", "ln_f grad,0.25,1,-0.5,")),
            "times.csv:17:18: error: -0.5 is outside [0, 1000000]\n"
            "  17 | ln_f grad,0.25,1,-0.5,0.4,5\n"
            "     |                  ^~~~\n"
            "hint: write a number in that range");
}

TEST(LayerTimesErrors, TimeNan) {
  EXPECT_EQ(import_error(sizes(), replaced(times(), "ln_f grad,0.25,1,0.5,", "ln_f grad,0.25,1,nan,")),
            "times.csv:17:18: error: 'nan' is not a finite number\n"
            "  17 | ln_f grad,0.25,1,nan,0.4,5\n"
            "     |                  ^~~\n"
            "hint: write a number like 1.5");
}

TEST(LayerTimesErrors, TimeInfinite) {
  EXPECT_EQ(import_error(sizes(), replaced(times(), "ln_f grad,0.25,1,0.5,", "ln_f grad,0.25,1,inf,")),
            "times.csv:17:18: error: 'inf' is not a finite number\n"
            "  17 | ln_f grad,0.25,1,inf,0.4,5\n"
            "     |                  ^~~\n"
            "hint: write a number like 1.5");
}

TEST(LayerTimesErrors, SpreadNegative) {
  EXPECT_EQ(import_error(sizes(), replaced(times(), "ln_f grad,0.25,1,0.5,0.4", "ln_f grad,0.25,1,0.5,-0.4")),
            "times.csv:17:22: error: -0.4 is outside [0, 1000000]\n"
            "  17 | ln_f grad,0.25,1,0.5,-0.4,5\n"
            "     |                      ^~~~\n"
            "hint: write a number in that range");
}

TEST(LayerTimesErrors, TimesWithoutTheStatistic) {
  EXPECT_EQ(import_error(sizes(), replaced(times(), "median", "p50"), "median"),
            "times.csv:1:1: error: no column 'median'; did you mean 'mean'?\n"
            "  1 | Name,min,max,mean,std,p50\n"
            "    | ^\n"
            "hint: the columns here are Name, min, max, mean, std, p50");
}

TEST(LayerTimesErrors, TimesOfAnotherModel) {
  EXPECT_EQ(import_error(sizes(), replaced(times(), "forward", "block_12 grad,1,4,2,1.2,20\nforward")),
            "times.csv:15:1: error: unknown row 'block_12 grad'; did you mean 'block_1 grad'?\n"
            "  15 | block_12 grad,1,4,2,1.2,20\n"
            "     | ^~~~~~~~~~~~~\n"
            "hint: the rows are forward, lm_head grad, ln_f grad, block_0 grad to block_11 grad and step");
}

TEST(LayerTimesErrors, FieldMissing) {
  EXPECT_EQ(import_error(sizes(), replaced(times(), "step,1.5,6,3,0.1,30\n", "step,1.5,6\n")),
            "times.csv:18:1: error: 3 fields where the header has 6\n"
            "  18 | step,1.5,6\n"
            "     | ^~~~~~~~~~\n"
            "hint: is the file cut off, or a comma missing?");
}

}  // namespace
}  // namespace ddpsim
