#include "sim/compute/synthesize.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/compute/transformer_layers.hpp"
#include "sim/text/gpu_file.hpp"
#include "sim/trace/trace_file.hpp"

#include "tests/compute/gpus.hpp"
#include "tests/support/errors.hpp"

namespace ddpsim {
namespace {

using ::testing::ElementsAre;
using testing::small_gpu;

// On the small GPU with 1000 tokens, at half of both figures: `first` and `last` compute for 2 and 4 ms
// forward, `middle` moves 1000 x 1e4 x 4 B at 50 GB/s in 0.8 ms; each launches a kernel of 5 us.
Model three_layers() {
  auto layer = [](std::string name, LayerPass forward, std::vector<ParameterTensor> tensors) {
    return ModelLayer{std::move(name), forward, twice(forward), std::move(tensors)};
  };
  return {"three",
          {layer("first", {.flops_per_token = 1e6}, {{"first.bias", 100, 1}, {"first.weight", 900, 0}}),
           layer("middle", {.values_per_token = 1e4}, {}),
           layer("last", {.flops_per_token = 2e6}, {{"last.weight", 1000, 2}})}};
}

SynthesisOptions on_the_small_gpu() {
  SynthesisOptions options;
  options.batch = {10, 100};
  options.gpu = small_gpu();
  return options;
}

TEST(Synthesize, ByHand) {
  auto trace = synthesize(three_layers(), on_the_small_gpu());
  EXPECT_DOUBLE_EQ(trace.forward->value(), 2e-3 + 0.8e-3 + 4e-3 + 3 * 5e-6);
  ASSERT_EQ(trace.gradients.size(), 3U);
  // Backward is twice as long, from the last layer to the first.
  EXPECT_EQ(trace.gradients[0].name, "last.weight");
  EXPECT_DOUBLE_EQ(trace.gradients[0].ready.value(), 8e-3 + 10e-6);
  EXPECT_EQ(trace.gradients[1].name, "first.bias");
  EXPECT_DOUBLE_EQ(trace.gradients[1].ready.value(), 8e-3 + 1.6e-3 + 4e-3 + 30e-6);
  EXPECT_EQ(trace.gradients[2].ready, trace.gradients[1].ready);
  // Forward the first layer is over after its own 2 ms, the last with the pass.
  EXPECT_EQ(trace.gradients[0].forward_end, trace.forward);
  EXPECT_DOUBLE_EQ(trace.gradients[1].forward_end->value(), 2e-3 + 5e-6);
  EXPECT_EQ(trace.gradients[2].forward_end, trace.gradients[1].forward_end);
  EXPECT_THAT(trace.registration_order, ElementsAre(2, 1, 0));
  EXPECT_DOUBLE_EQ(trace.optimizer->value(), 2000 * 28 / 50e9);
}

TEST(Synthesize, EfficienciesScaleTheirPart) {
  auto options = on_the_small_gpu();
  options.efficiency = 1;            // computing takes half as long
  options.memory_efficiency = 0.25;  // and moving twice as long
  auto trace = synthesize(three_layers(), options);
  EXPECT_DOUBLE_EQ(trace.forward->value(), 1e-3 + 1.6e-3 + 2e-3 + 15e-6);
  EXPECT_DOUBLE_EQ(trace.optimizer->value(), 2000 * 28 / 25e9);
}

TEST(Synthesize, KnownTimesScaleTheShape) {
  auto options = on_the_small_gpu();
  auto estimate = synthesize(three_layers(), options);
  options.forward = Seconds(0.155);
  options.backward = Seconds(0.296);
  options.optimizer = Seconds(0.272);
  auto trace = synthesize(three_layers(), options);
  EXPECT_DOUBLE_EQ(trace.forward->value(), 0.155);
  EXPECT_DOUBLE_EQ(trace.backward().value(), 0.296);
  EXPECT_EQ(trace.optimizer, Seconds(0.272));
  EXPECT_DOUBLE_EQ(*trace.gradients[1].forward_end / *trace.forward,
                   *estimate.gradients[1].forward_end / *estimate.forward);
  EXPECT_DOUBLE_EQ(trace.gradients[0].ready / trace.backward(),
                   estimate.gradients[0].ready / estimate.backward());
  EXPECT_EQ(trace.metadata.notes.back(),
            "Scaled to times that were given as a whole, forward 155 ms, backward 296 ms, optimizer 272 ms.");
}

// 2e6 of 3e6 operations a token are the last layer's.
TEST(Synthesize, WithoutAGpuTimesAreInProportionToFlops) {
  SynthesisOptions options;
  options.batch = {10, 100};
  options.forward = Seconds(0.1);
  options.backward = Seconds(0.3);
  auto trace = synthesize(three_layers(), options);
  EXPECT_DOUBLE_EQ(trace.gradients[0].ready.value(), 0.2);
  EXPECT_DOUBLE_EQ(trace.backward().value(), 0.3);
  EXPECT_FALSE(trace.optimizer);
  EXPECT_FALSE(trace.metadata.device);
  EXPECT_EQ(trace.metadata.synthetic, "FLOPs");
  EXPECT_EQ(trace.metadata.totals, "given");
  EXPECT_EQ(trace.metadata.notes[0], "A layer's time is in proportion to its FLOPs.");
}

TEST(Synthesize, SaysThatItIsAnEstimateAndIsReadBack) {
  auto options = on_the_small_gpu();
  options.gradients = DType::bfloat16;
  auto trace = synthesize(three_layers(), options);
  EXPECT_EQ(trace.metadata.synthetic, "roofline, efficiency 0.5, memory efficiency 0.5");
  EXPECT_EQ(trace.metadata.totals, std::nullopt);
  EXPECT_THAT(
      trace.metadata.notes,
      ElementsAre("A layer's time is the larger of FLOPs / (0.5 x 1 TFLOP/s in float32) and bytes / (0.5 x "
                  "100 GB/s), and 5 us a kernel.",
                  "The optimizer is AdamW's traffic of 14 bytes a parameter at 0.5 x 100 GB/s."));
  EXPECT_EQ(trace.gradients[0].dtype, DType::bfloat16);
  auto text = write_trace(trace);
  EXPECT_EQ(parse_trace({make_source("t.csv", text), text}), trace);
  EXPECT_EQ(write_trace(synthesize(three_layers(), options)), text);
}

// Model FLOPs utilisation of forward and backward: three times the forward's FLOPs, 14.0e12, over the time
// and the peak. llm-foundry measured 40 to 46 % of it for whole steps of such models.
TEST(Synthesize, UtilisationOfAnH100IsPlausible) {
  SynthesisOptions options;
  options.batch = {4, 1024};
  options.compute = DType::bfloat16;
  options.gpu = read_gpu(DDPSIM_SOURCE_DIR "/gpus/h100-sxm.yaml");
  auto model = transformer_layers(transformer_named("gpt2-xl"), 1024);
  auto trace = synthesize(model, options);
  auto time = *trace.forward + trace.backward();
  double utilisation = 3 * model.forward_flops(options.batch).value() / (time.value() * 989.4e12);
  EXPECT_GT(utilisation, 0.35);
  EXPECT_LT(utilisation, 0.45);
}

TEST(Synthesize, NothingToSpreadTimesOver) {
  auto model = three_layers();
  for (auto& layer : model.layers) layer.forward = layer.backward = {};
  SynthesisOptions options;
  options.forward = options.backward = Seconds(1);
  EXPECT_EQ(testing::input_error([&] { synthesize(model, options); }),
            "error: the layers of 'three' compute nothing, so no time can be spread over them\n"
            "hint: give its layers 'flops_per_token', or a GPU and 'values_per_token'");
}

TEST(Synthesize, TimesOfNoTrace) {
  auto options = on_the_small_gpu();
  options.batch = {1'000'000'000, 1'000'000'000};
  EXPECT_EQ(testing::input_error([&] { synthesize(three_layers(), options); }),
            "error: a part of the step takes 10^9 s or longer\n"
            "hint: check the batch and the layers' counts");
}

}  // namespace
}  // namespace ddpsim
