// What tensor-parallel collectives add to passes over a block and to the ends, counted by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/units.hpp"
#include "sim/compute/stage_times.hpp"
#include "sim/compute/transformer_trace.hpp"

namespace ddpsim::testing {
namespace {

using namespace ddpsim::literals;

Transformer model_of_4096() {
  auto model = transformer_named("gpt3-175b");
  model.hidden = 4096;
  model.ffn = 4 * 4096;
  model.layers = model.heads = model.kv_heads = 32;
  return model;
}

const Software kSoftware{.gemm = 0.8, .attention = 0.4};

// Four GPUs; an all-reduce takes 8 ms, its halves 4 ms, and a small one 1 ms: longer than any product, but
// for those of a micro-batch of 128.
TransformerTimes times_of(TensorOverlap overlap, bool sequence, Recompute recompute = Recompute::none,
                          std::int64_t micro_batch = 1, const Software& software = kSoftware,
                          double hidden = 0.75) {
  GpuDescription gpu;
  gpu.multiprocessors = 108;
  gpu.memory_bandwidth = BytesPerSecond(2e12);
  gpu.peak[Precision::bfloat16] = FlopsPerSecond(312e12);
  TensorCollectives tensor;
  tensor.all_reduce = 8_ms;
  tensor.all_gather = tensor.reduce_scatter = 4_ms;
  tensor.small = 1_ms;
  tensor.overlap = overlap;
  tensor.hidden = hidden;
  StepShape shape{.micro_batch = micro_batch, .sequence = 1024, .recompute = recompute, .tensor = 4};
  shape.sequence_parallel = sequence;
  return {model_of_4096(), gpu, software, Precision::bfloat16, shape, tensor};
}

double ms(Seconds time) {
  return 1e3 * time.value();
}

// Two all-reduces each way; or two gathers and two scatters forward, and two more gathers backward.
TEST(TensorPasses, WhatABlockExchanges) {
  auto plain = times_of(TensorOverlap::none, false).block();
  EXPECT_EQ(plain.tensor_forward.all_reduces, 2);
  EXPECT_EQ(plain.tensor_backward.all_reduces, 2);
  EXPECT_NEAR(ms(plain.tensor_backward.exposed), 16, 1e-9);
  auto split = times_of(TensorOverlap::none, true).block();
  EXPECT_EQ(split.tensor_forward.all_gathers, 2);
  EXPECT_EQ(split.tensor_forward.reduce_scatters, 2);
  EXPECT_EQ(split.tensor_backward.all_gathers, 4);
  EXPECT_EQ(split.tensor_backward.reduce_scatters, 2);
  EXPECT_NEAR(ms(split.tensor_forward.exposed), 16, 1e-9);
  EXPECT_NEAR(ms(split.tensor_backward.exposed), 24, 1e-9);
}

TEST(TensorPasses, WhatIsHidden) {
  auto measured = times_of(TensorOverlap::measured, false).block();
  EXPECT_NEAR(ms(measured.tensor_forward.exposed), 4, 1e-9);
  EXPECT_DOUBLE_EQ(ms(measured.tensor_forward.busy), 16);
  // A measured share has the second gathers in it.
  EXPECT_NEAR(ms(times_of(TensorOverlap::measured, true).block().tensor_backward.exposed), 4, 1e-9);
  // Of 16 ms three chunks of four could hide, and 0.34 of them do.
  EXPECT_NEAR(ms(times_of(TensorOverlap::pipelined, false).block().tensor_forward.exposed), 16 - 0.34 * 12,
              1e-9);
}

// An all-reduce under the weights' gradients: of query-key-value (3 x 4096 / 4 columns) and the feed-forward
// layer's first matrix (4 x 4096 / 4). Nothing is hidden forward.
TEST(TensorPasses, WhatRunsUnderGradients) {
  auto times = times_of(TensorOverlap::async, false);
  auto block = times.block();
  EXPECT_NEAR(ms(block.tensor_forward.exposed), 16, 1e-9);
  auto left = 16 - ms(times.law().product({3072, 4096, 1024})) - ms(times.law().product({4096, 4096, 1024}));
  EXPECT_NEAR(ms(block.tensor_backward.exposed), left, 1e-9);
  EXPECT_LT(left, 16);
  // With long products nothing is left of them; the first gathers of gradients stay on the way.
  EXPECT_EQ(ms(times_of(TensorOverlap::async, false, Recompute::none, 128).block().tensor_backward.exposed),
            0);
  EXPECT_NEAR(ms(times_of(TensorOverlap::async, true, Recompute::none, 128).block().tensor_backward.exposed),
              8, 1e-9);
}

// Forward once more, full or per operator (which keeps what reduce-scatters gave); the attention core
// communicates nothing. What stops early needs nothing that follows the last product.
TEST(TensorPasses, Recomputation) {
  auto stops = kSoftware;
  stops.early_stop = true;
  auto again = [](bool sequence, Recompute recompute, const Software& software = kSoftware) {
    return times_of(TensorOverlap::none, sequence, recompute, 1, software).block().tensor_recompute;
  };
  EXPECT_EQ(again(false, Recompute::selective).busy, Seconds());
  EXPECT_EQ(again(true, Recompute::selective).busy, Seconds());
  EXPECT_EQ(again(false, Recompute::full).all_reduces, 2);
  EXPECT_EQ(again(false, Recompute::op).all_reduces, 2);
  EXPECT_EQ(again(false, Recompute::full, stops).all_reduces, 1);
  EXPECT_EQ(again(false, Recompute::op, stops).all_reduces, 1);
  for (const auto& [recompute, software, scatters] : {std::tuple(Recompute::full, kSoftware, 2),
                                                      {Recompute::full, stops, 1},
                                                      {Recompute::op, kSoftware, 0},
                                                      {Recompute::op, stops, 0}}) {
    EXPECT_EQ(again(true, recompute, software).all_gathers, 2);
    EXPECT_EQ(again(true, recompute, software).reduce_scatters, scatters);
  }
  // 2 all-gathers of 4 ms.
  auto recompute = [](TensorOverlap overlap) {
    return times_of(overlap, true, Recompute::op, 128).block().recompute;
  };
  EXPECT_NEAR(ms(recompute(TensorOverlap::none) - recompute(TensorOverlap::measured)), 0.75 * 8, 1e-9);
}

// What a pass is longer for its collectives, where launches take as long as they do: less than the
// collectives take.
TEST(TensorPasses, WhatTheHostsPaceHides) {
  auto slow = kSoftware;
  slow.host = 1_ms;
  auto with = times_of(TensorOverlap::none, false, Recompute::full, 1, slow).block();
  auto without = times_of(TensorOverlap::measured, false, Recompute::full, 1, slow, 1).block();
  EXPECT_NEAR(ms(with.tensor_forward.exposed), ms(with.forward.time - without.forward.time), 1e-9);
  EXPECT_NEAR(ms(with.tensor_backward.exposed), ms(with.backward.time - without.backward.time), 1e-9);
  EXPECT_NEAR(ms(with.tensor_recompute.exposed), ms(with.recompute - without.recompute), 1e-9);
  EXPECT_LT(ms(with.tensor_forward.exposed), 16);
  EXPECT_DOUBLE_EQ(ms(with.tensor_forward.busy), 16);
}

// The lookup's rows are added up; the loss asks for three numbers a token; the head's input gradient is added
// up.
TEST(TensorPasses, TheEnds) {
  auto times = times_of(TensorOverlap::none, false);
  auto forward = times.tensor_ends_forward({}), backward = times.tensor_ends_backward({});
  EXPECT_EQ(forward.all_reduces, 1);
  EXPECT_EQ(forward.small, 3);
  EXPECT_EQ(backward.all_reduces, 1);
  EXPECT_DOUBLE_EQ(ms(forward.exposed), 8 + 3);
  EXPECT_EQ(times.tensor_ends_forward({.embedding = false, .head = false}).busy, Seconds());
}

// Stages' passes add up to the model's.
std::vector<BlockKind> blocks(std::size_t count) {
  return std::vector<BlockKind>(count);
}

TEST(StageTimes, StagesAddUp) {
  auto times = times_of(TensorOverlap::none, false);
  auto whole = stage_times(times, {blocks(32)});
  auto first = stage_times(times, {blocks(20), {true, false}}),
       last = stage_times(times, {blocks(12), {false, true}});
  EXPECT_NEAR(ms(first.forward + last.forward), ms(whole.forward), 1e-9 * ms(whole.forward));
  EXPECT_NEAR(ms(first.weight_gradient + last.weight_gradient), ms(whole.weight_gradient), 1e-6);
  EXPECT_EQ(first.tensor.all_reduces + last.tensor.all_reduces, whole.tensor.all_reduces);
}

// GPT-2's first block on one GPU of four: matrices and their columns' biases are cut, norms and the biases
// after a sum are not; 50,257 rows of vocabulary are padded to 4 x 12,672.
TEST(ShardTrace, WhatAGpuHas) {
  GpuDescription gpu;
  gpu.multiprocessors = 108;
  gpu.memory_bandwidth = BytesPerSecond(2e12);
  gpu.peak[Precision::bfloat16] = FlopsPerSecond(312e12);
  Software software{.gemm = 0.8, .attention = 0.4};
  TransformerStep step{.shape = {.micro_batch = 4, .sequence = 1024, .tensor = 4}};
  KnownParts known;
  TensorCollectives tensor;
  tensor.all_reduce = 1_ms;
  tensor.small = 0.1_ms;
  auto model = transformer_named("gpt2");
  TransformerTimes times(model, gpu, software, Precision::bfloat16, step.shape, tensor);
  auto trace =
      stage_trace(*known.of(model, 1024), model, times, step, 0, {model.kinds_of(0, model.layers), {}, true});
  std::map<std::string, std::int64_t> elements;
  for (const auto& gradient : trace.gradients)
    elements[std::string(std::string_view(gradient.name))] = gradient.elements;
  EXPECT_EQ(elements["transformer.wte.weight"], 12672 * 768);
  EXPECT_EQ(elements["transformer.wpe.weight"], 1024 * 768);
  EXPECT_EQ(elements["transformer.h.0.ln_1.weight"], 768);
  EXPECT_EQ(elements["transformer.h.0.attn.c_attn.weight"], 3 * 768 * 768 / 4);
  EXPECT_EQ(elements["transformer.h.0.attn.c_attn.bias"], 3 * 768 / 4);
  EXPECT_EQ(elements["transformer.h.0.attn.c_proj.weight"], 768 * 768 / 4);
  EXPECT_EQ(elements["transformer.h.0.attn.c_proj.bias"], 768);
  EXPECT_EQ(elements["transformer.h.0.mlp.c_fc.bias"], 4 * 768 / 4);
  EXPECT_EQ(elements["transformer.h.0.mlp.c_proj.bias"], 768);
  // Passes are those of the stage that has all layers.
  auto stage = stage_times(times, {model.kinds_of(0, model.layers), {}});
  EXPECT_NEAR(trace.forward->value(), stage.forward.value(), 1e-12);
  EXPECT_NEAR(trace.backward().value(), (stage.input_gradient + stage.weight_gradient).value(), 1e-12);
}

// Of two stages the last one has a copy of the tied matrix, and both have what the model has between them, in
// as long; blocks that are computed again are the first of each.
TEST(StageTrace, StagesAddUp) {
  GpuDescription gpu;
  gpu.multiprocessors = 108;
  gpu.memory_bandwidth = BytesPerSecond(2e12);
  gpu.peak[Precision::bfloat16] = FlopsPerSecond(312e12);
  Software software{.gemm = 0.8, .attention = 0.4};
  TransformerStep step{.shape = {.micro_batch = 4, .sequence = 1024, .recompute = Recompute::full}};
  auto model = transformer_named("gpt2");
  TransformerTimes times(model, gpu, software, Precision::bfloat16, step.shape);
  KnownParts known;
  auto elements = [](const LayerTrace& trace) {
    std::int64_t all = 0;
    for (const auto& gradient : trace.gradients) all += gradient.elements;
    return all;
  };
  StageLayers of_first{model.kinds_of(0, 7), {true, false}, false, 2},
      of_last{model.kinds_of(7, 5), {false, true}, false, 2};
  const auto& parts = *known.of(model, 1024);
  auto first = stage_trace(parts, model, times, step, 0, of_first);
  auto last = stage_trace(parts, model, times, step, 7, of_last);
  EXPECT_EQ(elements(first) + elements(last), model.parameters(1024) + model.vocab * model.hidden);
  for (const auto& [trace, layers] : {std::pair(first, of_first), {last, of_last}}) {
    auto stage = stage_times(times, layers);
    EXPECT_NEAR(trace.forward->value(), stage.forward.value(), 1e-12);
    EXPECT_NEAR(trace.backward().value(),
                (stage.recompute + stage.input_gradient + stage.weight_gradient).value(), 1e-12);
    EXPECT_EQ(trace.registration_order.size(), trace.gradients.size());
  }
  EXPECT_EQ(first.gradients.front().name, "transformer.h.6.mlp.c_proj.bias");
  EXPECT_EQ(last.gradients.front().name, "transformer.wte.weight");
  EXPECT_EQ(last.registration_order.back(), 0U);  // behind all others
  EXPECT_EQ(last.gradients.back().name, "transformer.h.7.ln_1.bias");
}

}  // namespace
}  // namespace ddpsim::testing
