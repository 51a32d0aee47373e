#include "sim/trace/plausible_trace.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ddpsim {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// One gradient of all the model's elements.
LayerTrace trace_of(std::int64_t elements, Seconds backward, std::optional<Seconds> forward = Seconds(0.4)) {
  LayerTrace trace;
  trace.forward = forward;
  trace.optimizer = Seconds(0.1);
  trace.gradients.push_back({.name = "a", .elements = elements, .ready = backward, .ready_spread = {}});
  trace.registration_order = {0};
  return trace;
}

std::vector<std::string> texts(const LayerTrace& trace) {
  std::vector<std::string> texts;
  for (const auto& note : trace_notes(trace)) texts.push_back(note.code + ": " + note.text);
  return texts;
}

TEST(PlausibleTrace, NothingToSay) {
  EXPECT_THAT(texts(trace_of(10, Seconds(0.8))), IsEmpty());
}

TEST(PlausibleTrace, MissingTimes) {
  auto trace = trace_of(10, Seconds(0.8), std::nullopt);
  EXPECT_THAT(texts(trace),
              ElementsAre("trace-incomplete: the trace has no forward time: counted as zero, so that the "
                          "real iteration is longer"));
  trace.optimizer.reset();
  EXPECT_THAT(texts(trace),
              ElementsAre("trace-incomplete: the trace has no forward and optimizer times: counted as "
                          "zero, so that the real iteration is longer"));
}

TEST(PlausibleTrace, ReadyTimesInAnotherUnit) {
  EXPECT_THAT(
      texts(trace_of(10, Seconds(800))),
      ElementsAre("trace-times: the backward pass takes 800 s, 2e+03 times the forward pass of 400 ms: is "
                  "ready_s in seconds?"));
  EXPECT_THAT(
      texts(trace_of(10, Seconds(0.0008))),
      ElementsAre("trace-times: the backward pass takes 800 us, 0.002 times the forward pass of 400 ms: is "
                  "ready_s in seconds?"));
  EXPECT_EQ(texts(trace_of(10, Seconds(800), std::nullopt)).back(),
            "trace-times: the backward pass takes 800 s: is ready_s in seconds?");
}

TEST(PlausibleTrace, ElementsOfANamedModel) {
  auto trace = trace_of(774'030'080, Seconds(0.8));  // transformers' gpt2-large
  trace.metadata.model = "gpt2-large";
  EXPECT_THAT(texts(trace), IsEmpty());
  trace.gradients[0].elements += 50257 * 1280;  // an output layer of its own
  EXPECT_THAT(texts(trace), IsEmpty());
  trace.gradients[0].elements = 4 * 774'030'080LL;
  EXPECT_THAT(texts(trace),
              ElementsAre("trace-elements: the gradients have 3096120320 elements, 4 times those of "
                          "gpt2-large: are the elements bytes?"));
  trace.gradients[0].elements = 774'030'080 / 2;
  EXPECT_THAT(texts(trace),
              ElementsAre("trace-elements: the gradients have 387015040 elements, 0.5 times those of "
                          "gpt2-large: is the file cut short, or part of the model frozen?"));
  trace.metadata.model = "mine";
  EXPECT_THAT(texts(trace), IsEmpty());
}

}  // namespace
}  // namespace ddpsim
