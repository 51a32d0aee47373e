// Programs as text: what a line means, and what is refused.
#include <gtest/gtest.h>

#include "sim/program/program_symbols.hpp"

#include "tests/program/two_blocks.hpp"
#include "tests/support/errors.hpp"

namespace ddpsim::testing {
namespace {

WrittenProgram read(const std::string& text) {
  auto symbols = program_symbols(two_blocks(), DType::bfloat16);
  symbols.counts["ranks"] = 8;
  return read_program({make_source("own.program", text), text}, symbols);
}
Program only(const std::string& text) {
  return read(text).classes.at(0).program;
}
std::string refusal(const std::string& text) {
  return brief(input_error([&] { read(text); }));
}

// Two blocks, forward 1 s each, of 2 Mi elements: 4 MiB in 16 bits, 8 MiB of gradients.
TEST(WrittenProgram, SaysOpsAndWhatTheyWaitFor) {
  EXPECT_EQ(program_text(only("forward: compute 1.5ms  # a comment\n"
                              "all_reduce.3: all_reduce 25MiB on data plus 2us after forward\n"
                              "host_copy: compute 1ms fixed after forward.0 all_reduce.3\n")),
            "0 forward 0: 1.5 ms\n1 all_reduce 3: all_reduce of 25 MiB on 0 2 us, after 0\n"
            "2 host_copy 0: 1 ms, after 0 1\n");
  EXPECT_TRUE(only("host_copy: compute 1ms fixed\n").ops[0].is_fixed);
  EXPECT_EQ(only("copy_in: compute 1ms stream 2\n").ops[0].lane, 2U);
}

TEST(WrittenProgram, KnowsTheModel) {
  EXPECT_EQ(program_text(only("for i = 0..{blocks-1}\n"
                              "  forward.{i}: compute block.{i}.forward\n"
                              "end\n"
                              "backward: compute head.backward*2/4\n"
                              "reduce_scatter.0: reduce_scatter block.1.gradients on data\n"
                              "all_gather.0: all_gather 2B*block.1.elements on data\n"
                              "all_gather.1: all_gather root.parameters on data\n"
                              "optimizer: compute optimizer/ranks\n")),
            "0 forward 0: 1 s\n1 forward 1: 1 s\n2 backward 0: 500 ms\n"
            "3 reduce_scatter 0: reduce_scatter of 8 MiB on 0\n4 all_gather 0: all_gather of 4 MiB on 0\n"
            "5 all_gather 1: all_gather of 8.002 MiB on 0\n6 optimizer 0: 100 ms\n");
}

// A copy reads and writes its bytes: 2 x 4 MiB at 8 MiB/s, and its launch.
TEST(WrittenProgram, CopiesTakeWhatMemoryTakes) {
  auto symbols = program_symbols(two_blocks(), DType::bfloat16);
  std::string text = "copy_out: copy block.0.parameters\n";
  auto time = [&] {
    return read_program({make_source("own.program", text), text}, symbols).classes[0].program.ops[0].duration;
  };
  EXPECT_EQ(time(), Seconds(0));
  Overheads overheads;
  overheads.pass_bandwidth = BytesPerSecond(8 << 20);
  overheads.pass_launch = Seconds(0.5);
  set_copies(overheads, symbols);
  EXPECT_EQ(time(), Seconds(1.5));
}

TEST(WrittenProgram, HasClassesAndCommunicators) {
  auto all = read(
      "communicator data: axis data\nclass stage.0:\ncommunicator pairs: 2 ranks 4 apart\n"
      "message: send_recv 1MiB on pairs\nall_reduce: all_reduce 1MiB on data\n"
      "class stage.1:\nforward: compute 1s\n");
  ASSERT_EQ(all.classes.size(), 2U);
  EXPECT_EQ(all.classes[0].communicators[0].ranks, (RankSets{"", 2, 4}));
  EXPECT_EQ(all.classes[0].program.communicators, 2U);
  EXPECT_EQ(all.classes[0].program.ops[0].communicator, 1U);
  EXPECT_EQ(all.classes[1].program.communicators, 1U);
  auto text = write_program(all);
  EXPECT_EQ(read(text), all) << text;
}

// The shortest text that reads back: 1/3 s has no unit in which it is short, 64.5 KiB is bytes.
TEST(WrittenProgram, IsWrittenExactly) {
  WrittenProgram written;
  written.classes.emplace_back().program.communicators = 1;
  written.communicators.push_back({"data", {}});
  for (double time : {0.0, 1.0 / 3, 1e-9, 0.0012, 123456.789, 5e-324, 999999999.0}) {
    Op op;
    op.duration = Seconds(time);
    op.index = written.classes[0].program.ops.size() / 3;
    written.classes[0].program.ops.push_back(op);
  }
  for (double bytes : {1.0, 66048.0, 26214400.0, 1e15 + 1, 1234.5}) {
    Op op;
    op.kind = Op::Kind::collective;
    op.activity = Activity::all_reduce;
    op.bytes = Bytes(bytes);
    op.after = {0, 3};
    written.classes[0].program.ops.push_back(op);
  }
  auto text = write_program(written);
  EXPECT_EQ(read(text), written) << text;
  EXPECT_NE(text.find("forward.0: compute 0s\n"), std::string::npos) << text;
  EXPECT_NE(text.find("forward.1: compute 1.2ms\n"), std::string::npos) << text;
  EXPECT_NE(text.find("all_reduce.0'3: all_reduce 25MiB on data after forward.0 forward.1\n"),
            std::string::npos)
      << text;
}

TEST(WrittenProgram, RefusesWhatMeansNothing) {
  EXPECT_EQ(
      refusal("backward.1: compute block.1.backwrd\n"),
      "own.program:1:21-35: the model has no 'block.1.backwrd'; did you mean 'block.1.backward'?; write a "
      "time like 1.2ms, block.3.forward or optimizer/8");
  EXPECT_EQ(
      refusal("forward: compute 1s after backward\n"),
      "own.program:1:27-34: no op above is called 'backward'; an op waits for ops above it only, so that "
      "no two wait for each other");
  EXPECT_EQ(refusal("forward: compute 1s\nforward.0: compute 1s\n"),
            "own.program:2:1-9: 'forward.0' is in line 1 already; tell them apart: forward.0'2");
  EXPECT_EQ(refusal("forwrd: compute 1s\n").substr(0, 83),
            "own.program:1:1-6: no activity is called 'forwrd'; did you mean 'forward'?; an op's");
  EXPECT_EQ(refusal("for i = 1..2\nforward.{i}: compute 1s\n"),
            "own.program:1:1-3: this loop has no 'end'; write 'end' in a line below what it repeats");
  EXPECT_EQ(refusal("forward.{j}: compute 1s\n"),
            "own.program:1:1-11: nothing here is called 'j'; in braces stand a loop's variable and what the "
            "model counts, like {i+1} or {blocks-1}");
  EXPECT_EQ(refusal("for i = 1..9999999\nend\n"),
            "own.program:1:1-3: written out, the program has more than 1000000 lines; check the ends of its "
            "loops");
  EXPECT_EQ(refusal("all_reduce: all_reduce 1MiB on dat\n"),
            "own.program:1:32-34: there is no communicator 'dat'; name it above the ops: communicator dat: "
            "axis data");
  EXPECT_EQ(refusal("all_gather: all_reduce 1MiB on data\n"),
            "own.program:1:1-10: 'all_gather' is no name of a collective that does all_reduce; call it "
            "all_reduce or used_parameter_bitmap");
  EXPECT_EQ(refusal("forward: compute 25MiB\n").substr(0, 51),
            "own.program:1:20-22: '25MiB' is a size, not a time;");
  EXPECT_EQ(refusal("forward: compute parameters\n").substr(0, 55),
            "own.program:1:18-27: 'parameters' is a size, not a time");
  EXPECT_EQ(refusal("forward: compute 3\n").substr(0, 37), "own.program:1:18: its time has no uni");
  EXPECT_EQ(refusal("forward: compute 1s fixd\n").substr(0, 47),
            "own.program:1:21-24: 'fixd' does not belong her");
}

}  // namespace
}  // namespace ddpsim::testing
