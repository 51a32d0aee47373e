// What a mixture of experts computes, exchanges and holds in the passes over a block, by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/units.hpp"
#include "sim/compute/memory.hpp"
#include "sim/compute/stage_times.hpp"
#include "sim/compute/transformer_trace.hpp"

namespace ddpsim::testing {
namespace {

using namespace ddpsim::literals;

constexpr std::int64_t kTokens = 4096, kHidden = 4096, kFfn = 14336;
constexpr double kMatrix = 1.0 * kHidden * kFfn;

GpuDescription gpu() {
  GpuDescription gpu;
  gpu.multiprocessors = 108;
  gpu.memory_bandwidth = BytesPerSecond(2e12);
  gpu.memory = Bytes(80e9);
  gpu.peak[Precision::bfloat16] = FlopsPerSecond(312e12);
  return gpu;
}

// A host that launches at once: passes take as long as the device works.
const Software kSoftware{.gemm = 0.8, .attention = 0.4};

StepShape shape_of(int ranks) {
  StepShape shape{.micro_batch = 1, .sequence = kTokens};
  shape.expert.ranks = ranks;
  return shape;
}

Transformer with_shared() {
  auto model = transformer_named("mixtral-8x7b");
  model.experts.shared = 1;
  return model;
}

BlockTimes block_of(const StepShape& shape, const ExpertCollectives& expert = {},
                    const Transformer& model = transformer_named("mixtral-8x7b")) {
  return TransformerTimes(model, gpu(), kSoftware, Precision::bfloat16, shape, {}, {}, expert).block();
}

double ms(Seconds time) {
  return 1e3 * time.value();
}

Seconds stage(const PassTime& pass, BlockStage stage) {
  return pass.stages[static_cast<std::size_t>(stage)];
}

TEST(GroupedProducts, FillWavesTogether) {
  ComputeLaw law(gpu(), kSoftware, Precision::bfloat16);
  // 32 x 32 tiles of 256 x 128 in 10 waves of 108; with half a tile more for each expert 36 x 32 in 11.
  EXPECT_NEAR(law.product({1024, 4096, 4096, Tokens::m, 8}) / law.product({8192, 4096, 4096}), 1.1, 1e-12);
  // A token more is no tile more: experts have as many on average only.
  EXPECT_NEAR(law.product({1025, 4096, 4096, Tokens::m, 8}) / law.product({1024, 4096, 4096, Tokens::m, 8}),
              1, 1e-12);
  // Of a weight's gradient all tiles are full: tokens are what is summed up.
  EXPECT_EQ(law.product({4096, 1024, 4096, Tokens::k, 1}), law.product({4096, 1024, 4096, Tokens::k}));
  // Of 1,032 rows each expert has tiles that are mostly empty.
  EXPECT_GT(law.product({1032, 4096, 4096, Tokens::m, 8}), law.product({8 * 1032, 4096, 4096}));
  // A few rows each: all matrices are read, 8 x 4096 x 4096 x 2 bytes and 2 x 8 x 8 x 4096 values of 2 bytes.
  EXPECT_NEAR(ms(law.product({8, 4096, 4096, Tokens::m, 8})),
              1e3 * (8 * 4096. * 4096 + 2 * 8 * 8 * 4096) * 2 / (0.85 * 2e12), 1e-9);
}

// 4,096 tokens of 2 experts each are 8,192 rows: 1,024 for each of 8 experts on a GPU, or all for the one
// that it has of 8, where each of 8 GPUs sends as many. Rows are read and written three times, what an expert
// makes of them once (forward: two columns in, one out).
TEST(ExpertPasses, GroupedProductsARouterAndWhatTheyMove) {
  ComputeLaw law(gpu(), kSoftware, Precision::bfloat16);
  auto moved = [](double columns) { return 1e3 * 8192 * columns * 2 / (0.85 * 2e12); };
  for (int ranks : {1, 8}) {
    auto block = block_of(shape_of(ranks));
    int local = 8 / ranks;
    auto in =
        law.product({8192 / local, 2 * kFfn, kHidden, Tokens::m, local}) + law.product({kTokens, 8, kHidden});
    auto out = law.product({8192 / local, kHidden, kFfn, Tokens::m, local});
    double half = 0.5 * moved(6 * kHidden + 3 * kFfn);
    EXPECT_NEAR(ms(stage(block.forward, BlockStage::feed_forward_in)), ms(in) + half, 1e-9);
    EXPECT_NEAR(ms(stage(block.forward, BlockStage::feed_forward_out)), ms(out) + half, 1e-9);
    EXPECT_EQ(stage(block.forward, BlockStage::activation), Seconds());
  }
  // So many times as much, and of a shared expert its own columns, twice for each token.
  auto software = kSoftware;
  software.expert.traffic = 2.15;
  TransformerTimes times(with_shared(), gpu(), software, Precision::bfloat16, shape_of(8));
  TransformerTimes least(with_shared(), gpu(), kSoftware, Precision::bfloat16, shape_of(8));
  auto more = times.block().forward.time - least.block().forward.time;
  EXPECT_NEAR(ms(more), 1.15 * moved(6 * kHidden + 3 * kFfn), 1e-9);
  EXPECT_NEAR(ms(stage(least.block().forward, BlockStage::activation)),
              1e3 * kTokens * 2 * 3.0 * kFfn / (0.85 * 2e12), 1e-9);
}

// However few the tokens: a block takes 7.1 ms and 92 us for each of 2 experts of a rank, a third of it
// forward; with a capacity 4 ms.
TEST(ExpertPasses, TheHostSetsThePace) {
  auto software = kSoftware;
  software.host = Seconds(10e-6);
  software.queue = 1000;  // either the host or the device
  software.expert = {.host = 7.1_ms, .host_capacity = 4_ms, .host_each = 0.092_ms};
  Transformer model{.name = "small",
                    .hidden = 64,
                    .layers = 1,
                    .heads = 4,
                    .kv_heads = 4,
                    .head_dim = 16,
                    .ffn = 64,
                    .vocab = 100,
                    .experts = {8, 2, 64}};
  auto block = [&](StepShape shape) {
    shape.micro_batch = 1;
    shape.sequence = 8;
    return TransformerTimes(model, gpu(), software, Precision::bfloat16, shape).block();
  };
  auto shape = shape_of(4);
  EXPECT_NEAR(ms(block(shape).forward.time), (7.1 + 2 * 0.092) / 3, 0.006);
  EXPECT_NEAR(ms(block(shape).backward.time), 2 * (7.1 + 2 * 0.092) / 3, 0.006);
  shape.expert.capacity = 1;
  EXPECT_NEAR(ms(block(shape).forward.time), (4 + 2 * 0.092) / 3, 0.006);
  // A block without experts launches what it launches.
  auto dense = TransformerTimes(transformer_named("llama-2-7b"), gpu(), software, Precision::bfloat16, shape);
  auto plain = software;
  plain.expert = {};
  auto same = TransformerTimes(transformer_named("llama-2-7b"), gpu(), plain, Precision::bfloat16, shape);
  EXPECT_EQ(dense.micro_batch(), same.micro_batch());
}

// Without a kernel for sinks scores reach memory: products of all of them, 5.25 passes of 2 bytes.
TEST(ExpertPasses, SinksWithoutAKernel) {
  auto software = kSoftware;
  auto model = transformer_named("mixtral-8x7b");
  model.sinks = true;
  auto attention = [&] {
    TransformerTimes times(model, gpu(), software, Precision::bfloat16, shape_of(8));
    return stage(times.block().forward, BlockStage::attention);
  };
  auto flash = attention();
  software.expert.flash_sinks = false;
  double scores = 32. * kTokens * kTokens;
  double unfused = 4. * kTokens * kTokens * 4096 / (312e12 * 0.8) + 5.25 * 2 * scores / (0.85 * 2e12);
  double kernel = 0.5 * 4. * kTokens * kTokens * 4096 / (312e12 * 0.4);
  EXPECT_NEAR((attention() - flash).value(), unfused - kernel, 1e-9);
}

TEST(ExpertPasses, ExchangesAreWaitedFor) {
  ExpertCollectives expert{.dispatch = 3_ms, .combine = 2_ms, .probabilities = 1_ms, .counts = 0.5_ms};
  auto shape = shape_of(8);
  shape.recompute = Recompute::full;
  auto free = block_of(shape), block = block_of(shape, expert);
  for (const auto* pass : {&block.expert_forward, &block.expert_backward, &block.expert_recompute}) {
    EXPECT_EQ(pass->dispatches, 1);
    EXPECT_EQ(pass->combines, 1);
    EXPECT_EQ(pass->probabilities, 1);
    EXPECT_NEAR(pass->exposed.value(), pass->busy.value(), 1e-12);
  }
  // Counts before, forward only: splits are known backward.
  EXPECT_DOUBLE_EQ(ms(block.expert_forward.busy), 6.5);
  EXPECT_DOUBLE_EQ(ms(block.expert_backward.busy), 6);
  EXPECT_DOUBLE_EQ(ms(block.expert_recompute.busy), 6.5);
  // On a free network a pass is what it computes.
  EXPECT_EQ(free.expert_forward.busy, Seconds());
  EXPECT_NEAR(ms(block.forward.time - free.forward.time), 6.5, 1e-9);
  EXPECT_NEAR(ms(block.backward.time - free.backward.time), 6, 1e-9);
  EXPECT_NEAR(ms(block.recompute - free.recompute), 6.5, 1e-9);
  // Padded to a capacity nobody has to count; without expert parallelism nothing travels.
  shape.expert.capacity = 1;
  EXPECT_EQ(block_of(shape, expert).expert_forward.counts, 0);
  EXPECT_EQ(block_of(shape_of(1), expert).expert_forward.busy, Seconds());
}

TEST(ExpertPasses, SharedExpertsComputeMeanwhile) {
  ComputeLaw law(gpu(), kSoftware, Precision::bfloat16);
  auto model = with_shared();
  // Longer than the first matrices of the shared expert take, and shorter than its last one does.
  auto in = law.product({kTokens, 2 * kFfn, kHidden}), out = law.product({kTokens, kHidden, kFfn});
  ExpertCollectives expert{.dispatch = in + 2_ms, .combine = 0.5 * out, .probabilities = {}, .counts = {}};
  auto shape = shape_of(8);
  EXPECT_EQ(block_of(shape, expert, model).expert_forward.exposed, expert.dispatch + expert.combine);
  shape.expert.overlaps_shared = true;
  auto pass = block_of(shape, expert, model).expert_forward;
  EXPECT_EQ(pass.busy, expert.dispatch + expert.combine);
  EXPECT_NEAR(ms(pass.exposed), 2, 1e-9);
  // Backward twice as much is computed.
  EXPECT_NEAR(ms(block_of(shape, expert, model).expert_backward.exposed), 0, 1e-9);
}

TEST(ExpertPasses, LoadAndCapacityAreRowsOfTheSlowest) {
  auto shape = shape_of(8);
  shape.expert.load = 1.5;
  EXPECT_EQ(shape.rows(transformer_named("mixtral-8x7b").experts), 1.5 * 8192);
  ComputeLaw law(gpu(), kSoftware, Precision::bfloat16);
  auto slow = block_of(shape), mean = block_of(shape_of(8));
  EXPECT_NEAR(ms(stage(slow.forward, BlockStage::feed_forward_out) -
                 stage(mean.forward, BlockStage::feed_forward_out)),
              ms(law.product({12288, kHidden, kFfn}) - law.product({8192, kHidden, kFfn})) +
                  1e3 * 0.5 * 4096 * (6. * kHidden + 3. * kFfn) * 2 / (0.85 * 2e12),
              1e-9);
  // Padded experts have as many whatever came.
  shape.expert.capacity = 1.25;
  EXPECT_EQ(shape.rows(transformer_named("mixtral-8x7b").experts), 1.25 * 8192);
}

constexpr BlockKind kDense{AttentionKind::full, false}, kMixed{AttentionKind::full, true};

TEST(ExpertMemory, ExpertsAreDividedByTheirRanks) {
  const auto& model = transformer_named("mixtral-8x7b");
  // Attention 4096 x (4096 + 2 x 1024) + 4096 x 4096, two norms, the router; 24 matrices of experts.
  constexpr double kCommon = 4096. * 6144 + 4096. * 4096 + 2 * 4096 + 4096 * 8;
  auto whole = held_parameters(model, shape_of(1), kMixed);
  EXPECT_EQ(whole.common, kCommon);
  EXPECT_EQ(whole.experts, 24 * kMatrix);
  auto eighth = held_parameters(model, shape_of(8), kMixed);
  EXPECT_EQ(eighth.common, kCommon);
  EXPECT_EQ(eighth.experts, 3 * kMatrix);
  // In tensor-parallel groups without expert parallelism they are cut as all else.
  auto cut = shape_of(1);
  cut.tensor = 2;
  EXPECT_EQ(held_parameters(model, cut, kMixed).experts, 12 * kMatrix);
  // The optimizer's states of experts are sharded by those that have the same ones: 2 of 16 ranks.
  MemorySetup setup{
      .state = {2, 4, 12, 0}, .sharding = Sharding::optimizer, .shards = 16, .expert_shards = 2};
  auto memory =
      memory_of(model, shape_of(8), 2, setup, {.blocks = {{kMixed, 1}}, .is_first = false, .is_last = false});
  EXPECT_DOUBLE_EQ(memory.parameters.value(), 2 * (kCommon + 3 * kMatrix));
  EXPECT_DOUBLE_EQ(memory.optimizer.value(), 12 * (kCommon / 16 + 3 * kMatrix / 2));
}

TEST(ExpertTrace, HasTheStackedMatricesOfAllExperts) {
  const auto& model = transformer_named("mixtral-8x7b");
  auto trace = transformer_trace(model, gpu(), kSoftware, {Precision::bfloat16, DType::float32, shape_of(1)});
  std::int64_t elements = 0;
  for (const auto& gradient : trace.gradients) elements += gradient.elements;
  EXPECT_EQ(elements, 46'702'792'704);
  // Forward and backward are those of 32 blocks and both ends.
  TransformerTimes times(model, gpu(), kSoftware, Precision::bfloat16, shape_of(1));
  EXPECT_NEAR((*trace.forward + trace.backward()).value(), times.micro_batch().value(), 1e-12);
}

// The first block of three without experts is 4 times as wide as hidden; a pass over the model is one of each
// kind.
TEST(ExpertTrace, DenseLayersComeFirst) {
  auto model = with_shared();
  model.layers = 3;
  model.blocks = {{kDense, 1}, {kMixed, 2}};
  TransformerTimes times(model, gpu(), kSoftware, Precision::bfloat16, shape_of(1));
  auto trace = transformer_trace(model, gpu(), kSoftware, {Precision::bfloat16, DType::float32, shape_of(1)});
  EXPECT_NEAR((*trace.forward + trace.backward()).value(), times.micro_batch().value(), 1e-12);
  // Two stages: the dense block is the first's, and all of the model is on one of them.
  auto first = stage_times(times, {model.kinds_of(0, 1), {true, false}});
  auto rest = stage_times(times, {model.kinds_of(1, 2), {false, true}});
  auto block = times.block(kDense);
  EXPECT_EQ(model.blocks_with_experts(), 2);
  EXPECT_NEAR(ms(first.forward), ms(block.forward.time + times.ends({true, false}).embedding_forward), 1e-9);
  EXPECT_GT(rest.forward, 2 * block.forward.time);
  std::int64_t parameters = 0, at = 0;
  KnownParts known;
  for (const auto& stage :
       {StageLayers{{kDense}, {true, false}}, StageLayers{{kMixed, kMixed}, {false, true}}}) {
    auto of_stage = stage_trace(*known.of(model, kTokens), model, times,
                                {Precision::bfloat16, DType::float32, shape_of(1)}, at, stage);
    for (const auto& gradient : of_stage.gradients) parameters += gradient.elements;
    at += stage.layers();
  }
  EXPECT_EQ(parameters, model.parameters(kTokens));
}

// Of 46.7e9 parameters a token meets 12.9e9: 2 of 8 experts. Forward 2, backward 4 operations each, lookups
// and norms apart.
TEST(ExpertWork, IsThatOfActiveParameters) {
  const auto& model = transformer_named("mixtral-8x7b");
  auto work = step_work(model, gpu(), {Precision::bfloat16, DType::float32, shape_of(1)});
  double attention = 4.0 * 32 * 4096 * kTokens;
  double norms = 65 * 4096.0, lookup = 32000.0 * 4096;
  double matrices = 12'879'925'248.0 - norms - lookup;
  EXPECT_DOUBLE_EQ(work.model.value(), 3.0 * kTokens * (2 * matrices + attention));
}

// Backward, gradients become ready in the order in which they arrive, whatever a block is made of.
TEST(Traces, GradientsNeverBecomeReadyBeforeThoseThatCameFirst) {
  for (const auto& preset : transformer_presets()) {
    auto model = preset;
    model.layers = std::min<std::int64_t>(model.layers, 4);
    model.blocks = {};
    for (auto kind : preset.kinds_of(0, model.layers)) model.blocks.push_back({kind, 1});
    auto trace = transformer_trace(
        model, gpu(), kSoftware, {Precision::bfloat16, DType::float32, {.micro_batch = 1, .sequence = 512}});
    Seconds before;
    for (const auto& gradient : trace.gradients) {
      EXPECT_GE(gradient.ready.value(), before.value() - 1e-12)
          << preset.name << " " << std::string_view(gradient.name);
      before = gradient.ready;
    }
  }
}

// Of a latent's block the matrices down to its ranks are whole on every GPU: what all gradients of a rank
// are, its memory holds.
TEST(Traces, ATensorRankHoldsWhatItsGradientsAre) {
  auto model = transformer_named("deepseek-v3");
  model.layers = 3;
  model.blocks = {{{AttentionKind::latent, false}, 3}};
  StepShape shape{.micro_batch = 1, .sequence = 512};
  shape.tensor = 4;
  TransformerTimes times(model, gpu(), kSoftware, Precision::bfloat16, shape);
  KnownParts known;
  auto trace = stage_trace(*known.of(model, 512), model, times, {Precision::bfloat16, DType::float32, shape},
                           0, {model.kinds_of(0, 3), {false, false}});
  double elements = 0;
  for (const auto& gradient : trace.gradients) elements += static_cast<double>(gradient.elements);
  double held = 3 * held_parameters(model, shape, model.kind_of(0)).all();
  EXPECT_NEAR(held / elements, 1, 1e-4);  // norms are whole, too, and counted as cut
}

}  // namespace
}  // namespace ddpsim::testing
