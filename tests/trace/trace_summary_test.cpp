#include "sim/trace/trace_summary.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ddpsim {
namespace {

using ::testing::HasSubstr;

// 1 MiB, 3 MiB and 4 MiB arrive at 0.1, 0.5 and 1 s: half of the backward pass brings (1 + 3) / 8 = 50 % of
// the bytes.
TEST(TraceSummary, TellsWhatIsRecorded) {
  LayerTrace trace;
  trace.metadata.model = "tiny";
  trace.metadata.device = "A100";
  trace.metadata.batch_size = 4;
  trace.metadata.sequence_length = 1024;
  trace.metadata.source =
      "a long description of where the numbers are from, with more words than fit on one line of a console "
      "window";
  trace.forward = Seconds(0.5);
  trace.gradients = {{"head", 262144, DType::float32, Seconds(0.1), Seconds(2e-6)},
                     {"body", 786432, DType::float32, Seconds(0.5), {}},
                     {"embedding", 2097152, DType::bfloat16, Seconds(1), {}}};
  trace.registration_order = reverse_of_arrival(3);
  EXPECT_EQ(summarize(trace), R"(model           tiny
device          A100
batch           4 samples of 1024 tokens a GPU
torch           not recorded
captured        not recorded
source          a long description of where the numbers are from, with more words than fit on one line of a
                console window

forward         500 ms
backward        1 s
optimizer       not recorded
gradients       3 with 3145728 elements, 8 MiB (4 MiB bfloat16, 4 MiB float32)
first gradient  head at 100 ms (std 2 us)
last gradient   embedding at 1 s

gradients by size
       bytes      elements         ready  gradient
       4 MiB       2097152           1 s  embedding
       3 MiB        786432        500 ms  body
       1 MiB        262144        100 ms  head

gradients ready during backward
backward          time  gradients         bytes    share
    10 %        100 ms          1         1 MiB   12.5 %
    25 %        250 ms          1         1 MiB   12.5 %
    50 %        500 ms          2         4 MiB   50.0 %
    75 %        750 ms          2         4 MiB   50.0 %
    90 %        900 ms          2         4 MiB   50.0 %
   100 %           1 s          3         8 MiB  100.0 %
)");
}

TEST(TraceSummary, SaysWhatIsNotRecorded) {
  LayerTrace trace;
  trace.gradients = {{"only", 1, DType::float16, Seconds(0), {}}};
  trace.registration_order = {0};
  auto text = summarize(trace);
  for (const char* fact : {"model", "device", "batch", "torch", "captured", "source", "forward", "optimizer"})
    EXPECT_THAT(text, HasSubstr(std::string(fact) + std::string(16 - std::string(fact).size(), ' ') +
                                "not recorded\n"));
  EXPECT_THAT(text, HasSubstr("backward        0 s\n"));
  EXPECT_THAT(text, HasSubstr("gradients       1 with 1 elements, 2 B (float16)\n"));
  // Everything is there from the start of a backward pass that takes no time.
  EXPECT_THAT(text, HasSubstr("    10 %           0 s          1           2 B  100.0 %\n"));
}

TEST(TraceSummary, ShowsOnlyTheLargest) {
  LayerTrace trace;
  for (int i = 0; i < 20; ++i)
    trace.gradients.push_back({"g" + std::to_string(i), 1 + i, DType::float32, Seconds(i), {}});
  trace.registration_order = reverse_of_arrival(20);
  auto text = summarize(trace);
  EXPECT_THAT(text, HasSubstr("largest 8 gradients\n"));
  EXPECT_THAT(text, HasSubstr("        80 B            20          19 s  g19\n"));
  EXPECT_THAT(text, HasSubstr("  g12\n"));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("  g11\n")));
}

}  // namespace
}  // namespace ddpsim
