// What a profile says of the model: the order in which parameters are registered, the buffers that are
// broadcast.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trace/import/profiler_trace.hpp"

namespace ddpsim::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Gradients of 6, 4 and 4 elements, in that order.
ProfilerTrace three_gradients() {
  ProfilerTrace trace;
  trace.annotation("ProfilerStep#3", 0, 1000).forward_operator(10);
  trace.gradient(110, 112, 113, shaped("[2, 3]")).gradient(120, 122, 123, shaped("[4]"));
  trace.gradient(130, 132, 133, shaped("[4]"));
  trace.annotation("Optimizer.step#SGD.step", 200, 300);
  return trace;
}

ProfilerTrace& foreach_of(ProfilerTrace& trace, double start, const std::string& dims) {
  return trace.event("cpu_op", "aten::_foreach_add_", start, 5, 1,
                     R"("Input Dims": [[)" + dims +
                         R"(], [[9]], []], "Input type": ["TensorList", "TensorList", "Scalar"])");
}

TEST(ProfilerModel, RegistrationIsTheOptimizersOrder) {
  auto trace = three_gradients();
  foreach_of(trace, 210, "[4], [2, 3]");       // another group's
  foreach_of(trace, 220, "[4], [2, 3], [4]");  // of the two of 4 elements the first listed arrives last
  auto imported = trace.imported().trace;
  EXPECT_THAT(imported.registration_order, ElementsAre(2, 0, 1));
  EXPECT_FALSE(imported.registration_guessed);
}

TEST(ProfilerModel, RegistrationIsGuessedWithoutSuchAList) {
  auto trace = three_gradients();
  foreach_of(trace, 210, "[4], [2, 3], [5]");
  foreach_of(trace, 500, "[4], [2, 3], [4]");  // after the step
  auto imported = trace.imported().trace;
  EXPECT_THAT(imported.registration_order, ElementsAre(2, 1, 0));
  EXPECT_TRUE(imported.registration_guessed);
}

ProfilerTrace& broadcast(ProfilerTrace& trace, double start, std::int64_t elements,
                         const std::string& dtype) {
  trace.event("cpu_op", "c10d::broadcast_", start, 8, 1);
  return trace.event(
      "cpu_op", "record_param_comms", start + 1, 2, 1,
      fmt::format(R"("Collective name": "broadcast", "In msg nelems": {}, "dtype": "{}")", elements, dtype));
}

TEST(ProfilerModel, BuffersAreBroadcastInForward) {
  auto trace = three_gradients();
  trace.annotation("DistributedDataParallel.forward", 5, 100);
  broadcast(trace, 6, 53120, "Float");
  broadcast(trace, 20, 53, "Long");
  broadcast(trace, 400, 7, "Float");  // somebody else's
  EXPECT_THAT(trace.imported().trace.buffers, ElementsAre(Bytes(212480), Bytes(424)));
  EXPECT_THAT(three_gradients().imported().trace.buffers, IsEmpty());
}

// Forward from 5 to 110 us; the kernel of its broadcast takes 30 of them.
TEST(ProfilerModel, ForwardIsWithoutItsBroadcasts) {
  auto trace = three_gradients();
  trace.annotation("DistributedDataParallel.forward", 5, 100);
  auto before = trace.imported().trace.forward;
  trace.collective("Broadcast_RING_LL_Sum_int8_t", "broadcast", 7, 20, 50, 53120);
  EXPECT_NEAR((*before - *trace.imported().trace.forward).value(), 30e-6, 1e-12);
}

}  // namespace
}  // namespace ddpsim::testing
