#include "sim/compute/rescale.hpp"

#include <gtest/gtest.h>

#include "sim/compute/synthesize.hpp"
#include "sim/compute/transformer_layers.hpp"

#include "tests/compute/gpus.hpp"
#include "tests/support/errors.hpp"

namespace ddpsim {
namespace {

using testing::fast_gpu;
using testing::small_gpu;

LayerTrace recorded() {
  LayerTrace trace;
  trace.forward = Seconds(0.1);
  trace.optimizer = Seconds(0.02);
  trace.gradients = {{"b", 8, DType::float32, Seconds(0.04), Seconds(0.001)},
                     {"a", 8, DType::float32, Seconds(0.2), {}}};
  trace.registration_order = {1, 0};
  return trace;
}

// Twice the peak, four times the bandwidth: all but the optimizer takes half as long.
TEST(Rescale, AnUnknownModelComputes) {
  auto trace = rescale_trace(recorded(), small_gpu(), fast_gpu(), DType::float32);
  EXPECT_EQ(trace.forward, Seconds(0.05));
  EXPECT_EQ(trace.gradients[0].ready, Seconds(0.02));
  EXPECT_EQ(trace.gradients[0].ready_spread, Seconds(0.0005));
  EXPECT_DOUBLE_EQ(trace.gradients[1].ready.value(), 0.1);
  EXPECT_EQ(trace.optimizer, Seconds(0.005));
  EXPECT_EQ(trace.registration_order, recorded().registration_order);
}

TEST(Rescale, SaysSo) {
  auto trace = rescale_trace(recorded(), small_gpu(), fast_gpu(), DType::float32);
  EXPECT_EQ(trace.metadata.device, "Fast");
  EXPECT_EQ(trace.metadata.synthetic, "rescaled from Small to Fast by their float32 figures");
  EXPECT_EQ(trace.metadata.notes.back(),
            "Estimated for Fast from times on Small, with a ratio of the peaks in float32 of 0.5 and of the "
            "memory bandwidths of 0.25; all layers count as computing.");
}

TEST(Rescale, ToTheSameGpuChangesNoTime) {
  auto trace = rescale_trace(recorded(), small_gpu(), small_gpu(), DType::float32);
  EXPECT_EQ(trace.gradients, recorded().gradients);
  EXPECT_EQ(trace.forward, recorded().forward);
}

// Without launches, and with the rescaling's own efficiencies, what is estimated for one GPU becomes what is
// estimated for the other: a block's ln_1 a quarter, since it moves; its c_fc a half, since it computes.
TEST(Rescale, AKnownModelsLayersComputeOrMove) {
  SynthesisOptions options;
  options.batch = {4, 1024};
  options.memory_efficiency = kUsualCopyEfficiency;
  options.gpu = small_gpu();
  options.gpu->copy_launch = Seconds();
  auto model = transformer_layers(gpt2_presets()[0], 1024);
  auto slow = synthesize(model, options);
  options.gpu = fast_gpu();
  options.gpu->copy_launch = Seconds();
  auto fast = synthesize(model, options);
  for (auto& gradient : slow.gradients) gradient.ready_spread = 0.05 * gradient.ready;
  auto trace = rescale_trace(slow, small_gpu(), fast_gpu(), DType::float32);
  ASSERT_EQ(trace.gradients.size(), fast.gradients.size());
  for (const auto& gradient : trace.gradients)
    ASSERT_NEAR(*gradient.ready_spread / gradient.ready, 0.05, 1e-12) << gradient.name;
  auto share = [](const LayerTrace& t, std::size_t i) {
    return t.gradients[i].ready - t.gradients[i - 1].ready;
  };
  for (std::size_t i = 1; i < fast.gradients.size(); ++i) {
    EXPECT_NEAR(trace.gradients[i].ready.value(), fast.gradients[i].ready.value(), 1e-9);
    if (trace.gradients[i].name == "transformer.h.3.ln_1.weight") {
      EXPECT_NEAR(share(trace, i) / share(slow, i), 0.25, 1e-9);
    }
  }
  EXPECT_NEAR(trace.forward->value(), fast.forward->value(), 1e-9);
  EXPECT_NEAR(trace.optimizer->value(), fast.optimizer->value(), 1e-9);
}

// Any transformer that is known by name: Llama's norms move, its matrices compute.
TEST(Rescale, AModelWithAGateIsKnownToo) {
  SynthesisOptions options;
  options.batch = {1, 4096};
  options.memory_efficiency = kUsualCopyEfficiency;
  options.gpu = small_gpu();
  options.gpu->copy_launch = Seconds();
  auto slow = synthesize(transformer_layers(transformer_named("llama-2-7b"), 4096), options);
  auto fast = rescale_trace(slow, small_gpu(), fast_gpu(), DType::float32);
  auto share = [](const LayerTrace& t, std::size_t i) {
    return t.gradients[i].ready - t.gradients[i - 1].ready;
  };
  for (std::size_t i = 1; i < slow.gradients.size(); ++i) {
    const auto& name = slow.gradients[i].name;
    double ratio = share(fast, i) / share(slow, i);
    if (name == "model.layers.3.mlp.gate_proj.weight") {
      EXPECT_GT(ratio, 0.4);
    } else if (name == "model.layers.3.input_layernorm.weight") {
      EXPECT_NEAR(ratio, 0.25, 1e-9);
    }
  }
  EXPECT_LT(fast.forward->value(), 0.5 * slow.forward->value());
}

TEST(Rescale, ByAStatedFactor) {
  auto trace = rescale_trace(recorded(), 0.5);
  EXPECT_EQ(trace.forward, Seconds(0.05));
  EXPECT_EQ(trace.optimizer, Seconds(0.01));
  EXPECT_EQ(trace.gradients[0].ready, Seconds(0.02));
  EXPECT_EQ(trace.gradients[0].ready_spread, Seconds(0.0005));
  EXPECT_DOUBLE_EQ(trace.gradients[1].ready.value(), 0.1);
  EXPECT_EQ(trace.metadata.synthetic, "rescaled by a stated factor of 0.5");
}

// Layers end within the forward pass as they did.
TEST(Rescale, LayersForwardPassesAreScaledWithTheirPass) {
  auto known = recorded();
  known.forward = Seconds(0.1);
  for (auto& gradient : known.gradients) gradient.forward_end = Seconds(0.1);
  known.gradients.back().forward_end = Seconds(0.025);
  for (const auto& trace :
       {rescale_trace(known, 0.5), rescale_trace(known, small_gpu(), fast_gpu(), DType::float32)}) {
    EXPECT_EQ(trace.gradients.front().forward_end, Seconds(0.05));
    EXPECT_EQ(trace.gradients.back().forward_end, Seconds(0.0125));
  }
  EXPECT_FALSE(rescale_trace(recorded(), 0.5).has_forward_ends());
}

TEST(Rescale, AnEstimateOfAnEstimateSaysBoth) {
  auto estimate = recorded();
  estimate.metadata.synthetic = "FLOPs";
  EXPECT_EQ(rescale_trace(estimate, small_gpu(), fast_gpu(), DType::float32).metadata.synthetic,
            "FLOPs, rescaled from Small to Fast by their float32 figures");
}

TEST(Rescale, NeedsBothPeaks) {
  EXPECT_EQ(testing::input_error([] { rescale_trace(recorded(), small_gpu(), fast_gpu(), DType::bfloat16); }),
            "error: Small has no peak for bfloat16\n"
            "hint: its file has one for float32");
}

}  // namespace
}  // namespace ddpsim
