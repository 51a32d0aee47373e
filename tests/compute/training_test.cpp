// What is left of a backward pass where modules are frozen, counted by hand.
#include "sim/compute/training.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "sim/base/source.hpp"
#include "sim/compute/stage_times.hpp"
#include "sim/compute/transformer_trace.hpp"

#include "tests/support/errors.hpp"

namespace ddpsim::testing {
namespace {

GpuDescription gpu() {
  GpuDescription one;
  one.multiprocessors = 108;
  one.memory_bandwidth = BytesPerSecond(2e12);
  one.peak[Precision::bfloat16] = FlopsPerSecond(312e12);
  return one;
}
const Software kSoftware{.gemm = 0.8, .attention = 0.4};
const StepShape kShape{.micro_batch = 4, .sequence = 1024};

std::shared_ptr<const std::vector<TransformerPart>> frozen(const std::vector<std::string>& names) {
  static KnownParts known;
  return known.of(transformer_named("gpt2"), 1024, names);
}
LayerTrace trace_of(const std::vector<std::string>& names) {
  KnownParts known;
  return transformer_trace(transformer_named("gpt2"), gpu(), kSoftware,
                           {Precision::bfloat16, DType::float32, kShape, {}, names}, known);
}
double backward_ms(const std::vector<std::string>& names) {
  return 1e3 * trace_of(names).backward().value();
}

TEST(Frozen, WhatOfAModelIsTrained) {
  EXPECT_TRUE(training_of(transformer_named("gpt2"), *frozen({})).blocks.empty());
  auto training = training_of(transformer_named("gpt2"), *frozen({"h.*.mlp", "h.0", "wte", "wpe"}));
  EXPECT_FALSE(training.trains_embedding);
  EXPECT_FALSE(training.trains_head);  // tied
  ASSERT_EQ(training.blocks.size(), 12U);
  EXPECT_FALSE(training.blocks[0].is_reached);
  EXPECT_TRUE(training.blocks[1].is_reached);
  auto share = [&](BlockStage stage) { return training.blocks[1].trained[static_cast<std::size_t>(stage)]; };
  EXPECT_EQ(share(BlockStage::query_key_value), 1);
  EXPECT_EQ(share(BlockStage::feed_forward_in), 0);
  EXPECT_EQ(share(BlockStage::feed_forward_out), 0);
  EXPECT_DOUBLE_EQ(training.reached, 11.0 / 12);
}

// A product of each matrix is left out; with all four frozen what is left is the inputs' gradients.
TEST(Frozen, AFrozenMatrixHasNoProductOfItsOwn) {
  TransformerTimes times(transformer_named("gpt2"), gpu(), kSoftware, Precision::bfloat16, kShape);
  auto all = times.block(BlockKind());
  TrainedShares none{};
  auto frozen_block = times.block(BlockKind(), none);
  EXPECT_EQ(frozen_block.weight_gradient, Seconds());
  EXPECT_NEAR((all.backward.time - frozen_block.backward.time).value(), all.weight_gradient.value(), 1e-12);
  EXPECT_EQ(all.forward.time, frozen_block.forward.time);
  double left_out = backward_ms({"ln_1"}) - backward_ms({"ln_1", "h.*.mlp", "h.*.attn"});
  EXPECT_NEAR(left_out, 12 * 1e3 * all.weight_gradient.value(), 1e-9 * left_out);
}

// Under the first trained block there is no backward pass, nor recomputation; the head's input gradient is.
TEST(Frozen, TheBackwardPassEndsWithWhatIsTrained) {
  auto trace = trace_of({"wte", "wpe", "h.0", "h.1", "h.2"});
  const auto first = std::ranges::find_if(trace.gradients, &Gradient::is_frozen);
  for (auto gradient = first; gradient != trace.gradients.end(); ++gradient) {
    EXPECT_TRUE(gradient->is_frozen);
    EXPECT_EQ(gradient->ready, trace.backward());
  }
  TransformerTimes times(transformer_named("gpt2"), gpu(), kSoftware, Precision::bfloat16, kShape);
  auto ends = times.ends();
  double expected =
      (9 * times.block().backward.time + ends.head_backward - ends.head_weight_gradient).value();
  EXPECT_NEAR(trace.backward().value(), expected, 1e-12);
  EXPECT_NEAR(trace.forward->value(), trace_of({}).forward->value(), 1e-15);
  // 9 blocks and the last norm are stepped.
  EXPECT_NEAR(*trace.optimizer / times.optimizer(9 * (12 * 768.0 * 768 + 13 * 768) + 2 * 768), 1, 1e-12);
}

// Forward 2 operations, backward 2 for the inputs where it comes and 2 for what is trained.
TEST(Frozen, WorkIsWhatIsDone) {
  const auto& model = transformer_named("gpt2");
  TransformerStep step{Precision::bfloat16, DType::float32, kShape};
  auto all = step_work(model, gpu(), step).model.value();
  auto training = training_of(transformer_named("gpt2"), *frozen({"wte", "wpe", "h.*.mlp", "h.*.attn"}));
  double left = step_work(model, gpu(), step, training).model.value();
  double head = static_cast<double>(model.vocab * model.hidden);
  double matrices = 2 * 4096 * (model.multiplied_parameters() - head);
  EXPECT_NEAR(all - left, matrices * (1 - training.trained) + 2 * 4096 * head, 1e-9 * all);
}

// The head is no longer the embedding's, which is frozen alone; positions are trained beneath all blocks.
TEST(Frozen, EndsByThemselves) {
  auto model = transformer_named("gpt2");
  auto training = training_of(model, *frozen({"wte"}));
  EXPECT_FALSE(training.trains_embedding);
  EXPECT_FALSE(training.trains_head);
  EXPECT_TRUE(training.blocks.front().is_reached);  // wpe
  model.tied = false;
  KnownParts known;
  training = training_of(model, *known.of(model, 1024, {"lm_head"}));
  EXPECT_TRUE(training.trains_embedding);
  EXPECT_FALSE(training.trains_head);
}

// Stages that freeze other tensors, though no matrix, are not alike.
TEST(Frozen, BlocksDifferByTheirNormsToo) {
  auto training = training_of(transformer_named("gpt2"), *frozen({"h.*.mlp", "h.*.attn", "h.3"}));
  EXPECT_EQ(training.blocks[2], training.blocks[4]);
  EXPECT_NE(training.blocks[2], training.blocks[3]);
}

TEST(Frozen, NamesThatAreNone) {
  auto error = input_error([] { frozen({"h.*.mlp", "mpl"}); });
  EXPECT_NE(error.find("no module is called 'mpl'"), std::string::npos) << error;
  error = input_error([] { frozen({"*"}); });
  EXPECT_NE(error.find("all of the model is frozen"), std::string::npos) << error;
}

}  // namespace
}  // namespace ddpsim::testing
