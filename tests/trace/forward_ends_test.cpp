#include "sim/trace/forward_ends.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ddpsim {
namespace {

using ::testing::ElementsAre;

// Three layers in forward order: a (weight), b (weight and bias), c (weight); c arrives first.
LayerTrace three_layers() {
  LayerTrace trace;
  trace.forward = Seconds(8);
  trace.gradients = {{"c.weight", 1, DType::float32, Seconds(4), {}},
                     {"b.bias", 1, DType::float32, Seconds(12), {}},
                     {"b.weight", 1, DType::float32, Seconds(12), {}},
                     {"a.weight", 1, DType::float32, Seconds(16), {}}};
  trace.registration_order = reverse_of_arrival(4);
  return trace;
}

TEST(ForwardEnds, AreThoseOfTheTrace) {
  auto trace = three_layers();
  double end = 8;
  for (auto& gradient : trace.gradients) gradient.forward_end = Seconds(end--);
  auto ends = forward_ends(trace);
  EXPECT_THAT(ends.ends, ElementsAre(Seconds(8), Seconds(7), Seconds(6), Seconds(5)));
  EXPECT_FALSE(ends.note);
}

// Backward takes 4, 8 and 4 s for c, b and a: so forward, of 8 s, 2, 4 and 2. a ends at 2, b at 6, c at 8.
TEST(ForwardEnds, AreSpreadInProportionToBackward) {
  auto ends = forward_ends(three_layers());
  EXPECT_THAT(ends.ends, ElementsAre(Seconds(8), Seconds(6), Seconds(6), Seconds(2)));
  ASSERT_TRUE(ends.note);
  EXPECT_EQ(ends.note->code, "forward-spread");
  EXPECT_EQ(ends.note->text,
            "the trace does not say when a layer's forward pass ends: it is spread over the layers in "
            "proportion to their backward passes");
}

TEST(ForwardEnds, WithoutAForwardTimeAreZero) {
  auto trace = three_layers();
  trace.forward.reset();
  EXPECT_THAT(forward_ends(trace).ends, ElementsAre(Seconds(0), Seconds(0), Seconds(0), Seconds(0)));
}

// Gradients that are ready at 0 are a layer of no backward, and so of no forward, at the end of the pass.
TEST(ForwardEnds, GradientsReadyAtOnceEndWithTheForwardPass) {
  auto trace = three_layers();
  trace.gradients[0].ready = Seconds(0);
  EXPECT_THAT(forward_ends(trace).ends, ElementsAre(Seconds(8), Seconds(8), Seconds(8), Seconds(2)));
}

}  // namespace
}  // namespace ddpsim
