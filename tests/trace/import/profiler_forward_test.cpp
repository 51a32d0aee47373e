// When a layer's forward pass is over, from the sequence numbers of operators and nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trace/import/profiler_trace.hpp"

namespace ddpsim {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using testing::ProfilerTrace;
using testing::shaped;

std::string numbered(int sequence) {
  return fmt::format(R"("Sequence number": {}, "Fwd thread id": 1)", sequence);
}

class Trace : public ProfilerTrace {
 public:
  Trace& op(const std::string& name, double start, double end, int sequence, int thread = 1) {
    event("cpu_op", name, start, end - start, thread, numbered(sequence));
    return *this;
  }
  Trace& made_by(double start, double end, int sequence) {
    event("cpu_op", "autograd::engine::evaluate_function: XBackward0", start, end - start, 2,
          numbered(sequence));
    return *this;
  }
};

// Forward from 100: an embedding (node 10) until 120, a linear layer from 130 to 160 whose views are node 11
// and whose product is node 12, with a kernel until 190, and its activation (13) until 200. Backward from
// 210, when the GPU is free: forward takes 110 us. The product's node makes the bias, the view's the weight.
Trace linear_layer() {
  Trace trace;
  trace.op("aten::embedding", 100, 120, 10);
  trace.op("aten::linear", 130, 160, 11).op("aten::t", 131, 135, 11).op("aten::addmm", 140, 158, 12);
  trace.kernel(150, 155, 190, 1);
  trace.op("aten::relu", 195, 200, 13);
  trace.made_by(210, 220, 13).made_by(230, 240, 12);
  trace.gradient(245, 250, 255, shaped("[3]"));
  trace.made_by(260, 265, 11);
  trace.gradient(270, 275, 280, shaped("[3, 3]"));
  trace.made_by(290, 300, 10);
  trace.gradient(305, 310, 315, shaped("[7, 3]"));
  return trace;
}

TEST(ProfilerForward, ALayerEndsWithItsOperatorOnTheGpu) {
  auto trace = linear_layer().imported().trace;
  ASSERT_EQ(trace.gradients.size(), 3U);
  EXPECT_EQ(trace.forward, Seconds(110e-6));
  EXPECT_EQ(trace.gradients[0].forward_end, Seconds(90e-6));  // the kernel's end, 190 - 100
  EXPECT_EQ(trace.gradients[1].forward_end, Seconds(90e-6));  // the view's operator is inside the layer's
  EXPECT_EQ(trace.gradients[2].forward_end, Seconds(20e-6));
  EXPECT_THAT(trace.metadata.notes,
              Contains("forward_s is the end of the forward operator whose node made the gradient."));
}

// The embedding is the head's matrix, too (nodes 10 and 14): its gradient is complete after the first use's.
TEST(ProfilerForward, OfATensorUsedTwiceTheFirstUseCounts) {
  auto trace = linear_layer();
  trace.op("aten::matmul", 201, 205, 14);
  trace.made_by(206, 208, 14);
  EXPECT_EQ(trace.imported().trace.gradients[2].forward_end, Seconds(20e-6));
}

// Batch norm counts its batches in an operator that makes no node and has the next number, long before.
TEST(ProfilerForward, OfOperatorsOfOneNumberTheLastCounts) {
  auto trace = linear_layer();
  trace.op("aten::add_", 101, 102, 12);
  EXPECT_EQ(trace.imported().trace.gradients[0].forward_end, Seconds(90e-6));
}

TEST(ProfilerForward, AnotherThreadsNumbersAreItsOwn) {
  auto trace = linear_layer();
  trace.op("aten::stack", 180, 185, 10, 5);
  EXPECT_EQ(trace.imported().trace.gradients[2].forward_end, Seconds(20e-6));
}

// With reentrant checkpoints the operator of a node is in the backward pass.
TEST(ProfilerForward, WithoutItsOperatorNoneIsKnown) {
  auto trace = linear_layer();
  trace.made_by(322, 323, 99);
  trace.gradient(325, 326, 327, shaped("[5]"));
  auto imported = trace.imported().trace;
  EXPECT_FALSE(imported.has_forward_ends());
  EXPECT_THAT(imported.metadata.notes, ::testing::Not(Contains(HasSubstr("forward_s"))));
}

// A compiled graph is one operator: nothing tells its layers apart.
TEST(ProfilerForward, OneOperatorForAllSaysNothing) {
  Trace trace;
  trace.op("CompiledFunction", 100, 200, 10);
  trace.made_by(210, 220, 10);
  trace.gradient(225, 230, 235, shaped("[3]")).gradient(240, 245, 250, shaped("[4]"));
  EXPECT_FALSE(trace.imported().trace.has_forward_ends());
}

}  // namespace
}  // namespace ddpsim
