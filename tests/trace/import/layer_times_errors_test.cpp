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
  return tables.without_folder(testing::brief_error([&] { import_layer_times(tables.import); }));
}

std::string sizes() {
  return testing::sizes_table(gpt2_presets()[0]);
}
std::string times() {
  return testing::times_table(gpt2_presets()[0], {});
}

TEST(LayerTimesErrors, Refused) {
  EXPECT_EQ(import_error(sizes(), times(), "mode"),
            "unknown statistic 'mode'; the statistics are mean and median");
  EXPECT_EQ(import_error(replaced(sizes(), "5,Block 3,7087872\n", ""), times()),
            "sizes.csv: has no row 'Block 3'; the rows are Token embedding, Position embedding, Block 0 to "
            "Block 11, LayerNorm final and LM head");
  EXPECT_EQ(import_error(replaced(sizes(), "6,Block 4,", "6,Block 3,"), times()),
            "sizes.csv:8:3-9: row 'Block 3' appears twice; it is first on line 7");
  EXPECT_EQ(
      import_error(replaced(sizes(), "13,Block 11,7087872\n", "13,Block 11,7087872\n13,Block 12,7087872\n"),
                   times()),
      "sizes.csv:16:4-11: no GPT-2 ends with 'Block 12'; the last is 'Block 11' in gpt2, 'Block 23' in "
      "gpt2-medium, 'Block 35' in gpt2-large, 'Block 47' in gpt2-xl");
  EXPECT_EQ(import_error(",Name,No. Params\n0,Token embedding,38597376\n", times()),
            "sizes.csv: has no rows 'Block 0', 'Block 1' and so on; the last is 'Block 11' in gpt2, 'Block "
            "23' in gpt2-medium, 'Block 35' in gpt2-large, 'Block 47' in gpt2-xl");
  EXPECT_EQ(import_error(replaced(sizes(), "LayerNorm final", "LayerNorm finale"), times()),
            "sizes.csv:16:4-19: unknown row 'LayerNorm finale'; did you mean 'LayerNorm final'?; the rows "
            "are Token embedding, Position embedding, Block 0 to Block 11, LayerNorm final and LM head");
  EXPECT_EQ(import_error(replaced(sizes(), "38597376", "51463168"), times()),
            "sizes.csv:2:19-26: Token embedding of gpt2 has 38597376 parameters, not 51463168; with 12 "
            "blocks the width is 768");
  EXPECT_EQ(import_error(replaced(sizes(), "786432", "1572864"), times()),
            "sizes.csv:3:22-28: Position embedding of gpt2 has 786432 parameters, not 1572864; with 12 "
            "blocks the width is 768");
  EXPECT_EQ(import_error(replaced(sizes(), "Block 7,7087872", "Block 7,7087873"), times()),
            "sizes.csv:11:11-17: Block 7 of gpt2 has 7087872 parameters, not 7087873; with 12 blocks the "
            "width is 768");
  EXPECT_EQ(
      import_error(replaced(sizes(), "Block 7,7087872", "Block 7,7.0e6"), times()),
      "sizes.csv:11:11-15: '7.0e6' is not a whole number; write a whole number from 1 to 9007199254740992");
  EXPECT_EQ(import_error(replaced(sizes(), "No. Params", "Params"), times()),
            "sizes.csv:1:1: no column 'No. Params'; the columns here are , Name, Params");
  EXPECT_EQ(import_error(replaced(sizes(), "15,LM head,38597376\n", ""), times()),
            "sizes.csv: has no row 'LM head'; the rows are Token embedding, Position embedding, Block 0 to "
            "Block 11, LayerNorm final and LM head");
  EXPECT_EQ(import_error(sizes(), replaced(times(), "block_7 grad,1,4,2,1.2,20\n", "")),
            "times.csv: has no row 'block_7 grad'; the rows are forward, lm_head grad, ln_f grad, block_0 "
            "grad to block_11 grad and step");
  EXPECT_EQ(import_error(sizes(), replaced(times(), "forward,10,40,20,0.1,200\n", "")),
            "times.csv: has no row 'forward'; the rows are forward, lm_head grad, ln_f grad, block_0 grad to "
            "block_11 grad and step");
  EXPECT_EQ(import_error(sizes(), replaced(times(), "block_8 grad", "block_7 grad")),
            "times.csv:11:1-12: row 'block_7 grad' appears twice; it is first on line 10");
  EXPECT_EQ(import_error(sizes(), replaced(times(), "block_7 grad", "block_7 grads")),
            "times.csv:10:1-13: unknown row 'block_7 grads'; did you mean 'block_7 grad'?; the rows are "
            "forward, lm_head grad, ln_f grad, block_0 grad to block_11 grad and step");
  EXPECT_EQ(import_error(sizes(), replaced(times(), "step,1.5,6,3,", "step,1.5,6,0,")),
            "times.csv:18:12: a time of zero; a recorded time is above zero seconds");
  EXPECT_EQ(import_error(sizes(), replaced(times(), "ln_f grad,0.25,1,0.5,", "ln_f grad,0.25,1,-0.5,")),
            "times.csv:17:18-21: -0.5 is outside [0, 1000000]; write a number in that range");
  EXPECT_EQ(import_error(sizes(), replaced(times(), "ln_f grad,0.25,1,0.5,", "ln_f grad,0.25,1,nan,")),
            "times.csv:17:18-20: 'nan' is not a finite number; write a number like 1.5");
  EXPECT_EQ(import_error(sizes(), replaced(times(), "ln_f grad,0.25,1,0.5,", "ln_f grad,0.25,1,inf,")),
            "times.csv:17:18-20: 'inf' is not a finite number; write a number like 1.5");
  EXPECT_EQ(import_error(sizes(), replaced(times(), "ln_f grad,0.25,1,0.5,0.4", "ln_f grad,0.25,1,0.5,-0.4")),
            "times.csv:17:22-25: -0.4 is outside [0, 1000000]; write a number in that range");
  EXPECT_EQ(import_error(sizes(), replaced(times(), "median", "p50"), "median"),
            "times.csv:1:1: no column 'median'; did you mean 'mean'?; the columns here are Name, min, max, "
            "mean, std, p50");
  EXPECT_EQ(import_error(sizes(), replaced(times(), "forward", "block_12 grad,1,4,2,1.2,20\nforward")),
            "times.csv:15:1-13: unknown row 'block_12 grad'; did you mean 'block_1 grad'?; the rows are "
            "forward, lm_head grad, ln_f grad, block_0 grad to block_11 grad and step");
  EXPECT_EQ(import_error(sizes(), replaced(times(), "step,1.5,6,3,0.1,30\n", "step,1.5,6\n")),
            "times.csv:18:1-10: 3 fields where the header has 6; is the file cut off, or a comma missing?");
}

}  // namespace
}  // namespace ddpsim
