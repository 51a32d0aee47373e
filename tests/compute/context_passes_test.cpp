// What GPUs that share sequences exchange within the passes over a block, and what of it is waited for, by
// hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/units.hpp"
#include "sim/compute/memory.hpp"
#include "sim/compute/stage_times.hpp"

namespace ddpsim::testing {
namespace {

using namespace ddpsim::literals;

Transformer model_of_4096() {
  auto model = transformer_named("gpt3-175b");
  model.hidden = 4096;
  model.ffn = 4 * 4096;
  model.layers = model.heads = model.kv_heads = 32;
  model.positions = 0;
  return model;
}

constexpr std::int64_t kSequence = 32768;

TransformerTimes times_of(int ranks, ContextKind kind, const ContextCollectives& context,
                          Recompute recompute = Recompute::none) {
  GpuDescription gpu;
  gpu.multiprocessors = 108;
  gpu.memory_bandwidth = BytesPerSecond(2e12);
  gpu.peak[Precision::bfloat16] = FlopsPerSecond(312e12);
  StepShape shape{.micro_batch = 1, .sequence = kSequence, .recompute = recompute};
  shape.context = ranks;
  shape.context_kind = kind;
  return {model_of_4096(), gpu, Software{.gemm = 0.8, .attention = 0.4}, Precision::bfloat16, shape, {},
          context};
}

double ms(Seconds time) {
  return 1e3 * time.value();
}

// Forward, a causal sequence is 4 s^2 q / 2 operations at 0.4 of 312 TFLOP/s: 70.49 ms. Of four ranks each
// has a fourth, in four steps: 4.41 ms; backward 2.5 times as long, 11.01 ms.
const double kAttention = 1e3 * 2.0 * kSequence * kSequence * 4096 / (0.4 * 312e12);

TEST(ContextPasses, ARingHidesWhatAStepTakes) {
  ContextCollectives ring{.keys_values = 6_ms,
                          .with_gradients = 12_ms,
                          .all_gather = {},
                          .reduce_scatter = {},
                          .inputs = {},
                          .output = {}};
  auto block = times_of(4, ContextKind::ring, ring).block();
  double step = kAttention / 16;
  EXPECT_NEAR(step, 4.405, 1e-3);
  const auto& forward = block.context_forward;
  EXPECT_EQ(forward.messages, 3);
  EXPECT_EQ(forward.pairs, 0);
  EXPECT_DOUBLE_EQ(ms(forward.busy), 18);
  EXPECT_NEAR(ms(forward.exposed), 3 * (6 - step), 1e-9);
  // Keys and values in the first step, gradients in the last, both in the two between.
  const auto& backward = block.context_backward;
  EXPECT_EQ(backward.messages, 2);
  EXPECT_EQ(backward.pairs, 2);
  EXPECT_DOUBLE_EQ(ms(backward.busy), 2 * 6 + 2 * 12);
  EXPECT_NEAR(ms(backward.exposed), 2 * (12 - 2.5 * step), 1e-9);
  // Nothing of shorter messages is left, and nothing is sent where nobody shares.
  ring.keys_values = 4_ms;
  ring.with_gradients = 8_ms;
  EXPECT_EQ(times_of(4, ContextKind::ring, ring).block().context_forward.exposed, Seconds());
  EXPECT_EQ(times_of(4, ContextKind::ring, ring).block().context_backward.exposed, Seconds());
  EXPECT_EQ(times_of(1, ContextKind::ring, ring).block().context_forward.busy, Seconds());
  // Two ranks: one message each way, and one of gradients.
  EXPECT_EQ(times_of(2, ContextKind::ring, ring).block().context_backward.pairs, 0);
}

TEST(ContextPasses, TheOthersAreWaitedFor) {
  ContextCollectives all{.keys_values = {},
                         .with_gradients = {},
                         .all_gather = 5_ms,
                         .reduce_scatter = 3_ms,
                         .inputs = 2_ms,
                         .output = 1_ms};
  auto gathered = times_of(4, ContextKind::all_gather, all).block();
  EXPECT_NEAR(ms(gathered.context_forward.exposed), 5, 1e-9);
  EXPECT_NEAR(ms(gathered.context_backward.exposed), 5 + 3, 1e-9);
  auto exchanged = times_of(4, ContextKind::all_to_all, all).block();
  EXPECT_NEAR(ms(exchanged.context_forward.exposed), 3, 1e-9);
  EXPECT_NEAR(ms(exchanged.context_backward.exposed), 3, 1e-9);
  // What is computed again is exchanged again.
  for (auto recompute : {Recompute::full, Recompute::selective})
    EXPECT_NEAR(ms(times_of(4, ContextKind::all_gather, all, recompute).block().context_recompute.exposed), 5,
                1e-9);
  for (auto recompute : {Recompute::none, Recompute::op})
    EXPECT_EQ(times_of(4, ContextKind::all_gather, all, recompute).block().context_recompute.busy, Seconds());
}

// Attention of all kinds is the sequence's over the ranks; a ring adds up outputs in float32 besides: four
// times 3 x 4 bytes of 8192 x 4096 values at 0.85 of 2 TB/s.
TEST(ContextPasses, AttentionIsDivided) {
  auto stage = [](const BlockTimes& block) {
    const auto& pass = block.forward;
    return ms(pass.stages[static_cast<std::size_t>(BlockStage::attention)]);
  };
  auto gathered = stage(times_of(4, ContextKind::all_gather, {}).block());
  auto ring = stage(times_of(4, ContextKind::ring, {}).block());
  EXPECT_NEAR(ring - gathered, 1e3 * 4 * 12 * 8192.0 * 4096 / (0.85 * 2e12), 0.02);
  EXPECT_NEAR(stage(times_of(1, ContextKind::ring, {}).block()) / gathered, 4, 0.01);
}

// Rank r has pieces r and 2c - 1 - r. In step i of the ring it meets the pieces of rank r - i: as many pairs
// of a query and an earlier key in each step and on each rank, a diagonal counted half.
TEST(ContextPasses, PiecesAreBalanced) {
  constexpr int kRanks = 4, kTokens = 64, kPiece = kTokens / (2 * kRanks);
  auto has = [](int rank, int token) {
    int piece = token / kPiece;
    return piece == rank || piece == 2 * kRanks - 1 - rank;
  };
  for (int rank = 0; rank < kRanks; ++rank)
    for (int step = 0; step < kRanks; ++step) {
      int from = (rank - step + kRanks) % kRanks;
      double pairs = 0;
      for (int query = 0; query < kTokens; ++query)
        for (int key = 0; key <= query; ++key)
          if (has(rank, query) && has(from, key)) pairs += query == key ? 0.5 : 1;
      EXPECT_EQ(pairs, kTokens * kTokens / (2.0 * kRanks * kRanks)) << rank << ", " << step;
    }
}

// Of what layers keep a rank of four has a fourth.
TEST(ContextPasses, ActivationsAreDivided) {
  auto model = model_of_4096();
  MemorySetup setup;
  setup.use.logit_bytes = 0;
  auto activations = [&](int ranks, ContextKind kind) {
    StepShape shape{.micro_batch = 1, .sequence = kSequence};
    shape.context = ranks;
    shape.context_kind = kind;
    return memory_of(model, shape, 2, setup, {.blocks = {{BlockKind(), 32, 32}}, .is_last = false})
        .activations.value();
  };
  double whole = activations(1, ContextKind::ring), values = 2.0 * kSequence / 4 * 4096;
  // Besides, of one layer: two buffers of keys, values and their gradients; all ranks'; what is cut by heads.
  EXPECT_NEAR(activations(4, ContextKind::ring), whole / 4 + 8 * values, 1);
  EXPECT_NEAR(activations(4, ContextKind::all_gather), whole / 4 + 16 * values, 1);
  EXPECT_NEAR(activations(4, ContextKind::all_to_all), whole / 4 + 4 * values, 1);
}

}  // namespace
}  // namespace ddpsim::testing
