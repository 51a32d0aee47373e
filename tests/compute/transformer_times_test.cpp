#include "sim/compute/transformer_times.hpp"

#include <algorithm>
#include <functional>
#include <map>

#include <gtest/gtest.h>

#include "sim/base/csv.hpp"
#include "sim/base/input_file.hpp"
#include "sim/compute/block_schedule.hpp"

namespace ddpsim {
namespace {

using namespace literals;

GpuDescription gpu_of(const std::string& name) {
  GpuDescription gpu;
  bool is_hopper = name.starts_with("H");
  gpu.multiprocessors = is_hopper ? 132 : 108;
  double peak = is_hopper ? 989.5e12 : 312e12;
  gpu.peak = {{Precision::float16, FlopsPerSecond(peak)}, {Precision::bfloat16, FlopsPerSecond(peak)}};
  if (is_hopper) gpu.peak[Precision::float8] = FlopsPerSecond(1979e12);
  const std::map<std::string, double> bandwidths{
      {"A100-80", 2.039e12}, {"A100-40", 1.555e12}, {"H100", 3.35e12}, {"H100-96", 2.4e12}, {"H200", 4.8e12}};
  gpu.memory_bandwidth = BytesPerSecond(bandwidths.at(name));
  return gpu;
}

Software software_of(const std::string& name) {
  Software software{.name = name, .host = 20_us};
  if (name == "fsdp-a100") {
    software.gemm = 0.7995, software.attention = 0.315, software.elementwise = 1.762,
    software.early_stop = true;
  } else if (name == "fsdp-h100-cast") {
    software.gemm = 0.7411, software.attention = 0.1805, software.elementwise = 2.405;
    software.early_stop = true;
  } else if (name == "megatron") {
    software.gemm = 0.8, software.elementwise = 2.198, software.host = 59.4_us, software.flash = false;
  } else {
    software.gemm = 0.574, software.attention = 0.3, software.elementwise = 4.273, software.host = 10_us;
  }
  return software;
}

template <class Enum, std::size_t n>
Enum find(const Names<Enum, n>& names, const std::string& word) {
  for (const auto& [name, value] : names)
    if (name == word) return value;
  throw std::runtime_error(word);
}

// A hundredth of a nanosecond in a step of seconds: the two differ in the order of sums only.
TEST(TransformerTimes, AsAnotherImplementationOfTheLaw) {
  auto table = parse_csv(load_text(DDPSIM_SOURCE_DIR "/tests/compute/law_golden.csv", "golden times"),
                         "golden times", "");
  ASSERT_GE(table.rows.size(), 17U);
  for (const auto& row : table.rows) {
    auto text = [&](const char* column) { return row[table.column(column)].text; };
    auto number = [&](const char* column) { return std::stod(text(column)); };
    StepShape shape{.micro_batch = std::stoi(text("micro_batch")),
                    .sequence = std::stoi(text("sequence")),
                    .recompute = find(kRecomputeNames, text("recompute")),
                    .tensor = std::stoi(text("tensor")),
                    .casts_gradients = text("software").ends_with("-cast"),
                    .sequence_parallel = text("sequence_parallel") == "1"};
    const auto& model = *find_transformer(text("model"));
    TransformerTimes times(model, gpu_of(text("gpu")), software_of(text("software")),
                           find(kWorkloadPrecisionNames, text("precision")), shape,
                           {.all_reduce = 250_us,
                            .all_gather = 125_us,
                            .reduce_scatter = 125_us,
                            .small = {},
                            .overlap = TensorOverlap::measured});
    auto block = times.block();
    auto ends = times.ends();
    auto layers = static_cast<double>(model.layers);
    auto what = text("software") + " " + text("model") + " " + text("precision") + " " + text("recompute");
    auto close = [&](Seconds ours, double theirs) {
      EXPECT_NEAR(ours.value(), theirs, 1e-10 * theirs) << what;
    };
    close(layers * block.forward.time + ends.embedding_forward + ends.head_forward, number("forward_s"));
    close(layers * block.recompute, number("recompute_s"));
    close(layers * block.backward.time + ends.embedding_backward + ends.head_backward, number("backward_s"));
    auto positions = model.positions == Transformer::kAsLongAsTheSequence ? 2048 : shape.sequence;
    close(times.optimizer(static_cast<double>(model.parameters(positions))), number("optimizer_s"));
  }
}

// 4096 x 4096 x 4096 on 108 multiprocessors: tiles of 256 x 128 are 16 x 32 = 512 in 5 waves (108 each), of 2
// x 256 x 128 x (4096 + 150) FLOP at 312e12 x 0.8 / 108 = 2.3111e12 FLOP/s: 5 x 278.27e6 / 2.3111e12 = 602.0
// us. Tiles of 128 x 128 take 1024 in 10 waves, at 0.93 of the rate: 10 x 139.13e6 / 2.1493e12 = 647.3 us.
TEST(ComputeLaw, AProductByHand) {
  Software software{.gemm = 0.8};
  ComputeLaw law(gpu_of("A100-80"), software, Precision::bfloat16);
  EXPECT_NEAR(law.product({4096, 4096, 4096}).value(), 602.0e-6, 0.1e-6);
}

// Its rate falls to `unaligned`: 50257 is no multiple of 8.
TEST(ComputeLaw, AnUnalignedVocabulary) {
  ComputeLaw law(gpu_of("A100-80"), Software{.gemm = 0.8}, Precision::bfloat16);
  double ratio = law.product({4096, 50257, 1024}) / law.product({4096, 50264, 1024});
  EXPECT_NEAR(ratio, 1 / 0.331, 1e-9);
  // The gradient of its weights, and that of its inputs, whose k it is.
  EXPECT_GT(law.product({50257, 1024, 4096, Tokens::k}) / law.product({50264, 1024, 4096, Tokens::k}), 3);
  EXPECT_GT(law.product({4096, 1024, 50257}) / law.product({4096, 1024, 50264}), 2.9);
}

// Tokens are no leading dimension: 4095 fill the tiles that 4096 do, and a gradient sums up one less.
TEST(ComputeLaw, TokensOfAnyNumber) {
  ComputeLaw law(gpu_of("A100-80"), Software{.gemm = 0.8}, Precision::bfloat16);
  EXPECT_EQ(law.product({4095, 4096, 1024}), law.product({4096, 4096, 1024}));
  EXPECT_NEAR(law.product({4096, 4096, 4095, Tokens::k}) / law.product({4096, 4096, 4096, Tokens::k}),
              (4095. + 150) / (4096 + 150), 1e-9);
}

// Tensor cores want rows of 16 bytes: 8 values of 2, 4 of 4; float32 is not theirs.
TEST(ComputeLaw, AlignmentByType) {
  auto gpu = gpu_of("A100-80");
  gpu.peak[Precision::float32] = FlopsPerSecond(19.5e12);
  gpu.peak[Precision::tfloat32] = FlopsPerSecond(156e12);
  auto software = software_of("fsdp-a100");
  auto slower = [&](Precision precision, std::int64_t n) {
    ComputeLaw law(gpu, software, precision);
    return law.product({4096, n, 4096}) / law.product({4096, n - n % 8, 4096});
  };
  EXPECT_DOUBLE_EQ(slower(Precision::bfloat16, 4092), 1 / software.unaligned);
  EXPECT_DOUBLE_EQ(slower(Precision::tfloat32, 4092), 1);
  EXPECT_DOUBLE_EQ(slower(Precision::tfloat32, 4090), 1 / software.unaligned);
  EXPECT_DOUBLE_EQ(slower(Precision::float32, 4091), 1);
}

TEST(ComputeLaw, ProductsInOtherTypesHaveTheirShares) {
  auto gpu = gpu_of("A100-80");
  gpu.peak[Precision::float32] = FlopsPerSecond(19.5e12);
  gpu.peak[Precision::tfloat32] = FlopsPerSecond(156e12);
  auto software = software_of("fsdp-a100");
  auto time = [&](Precision precision) {
    return ComputeLaw(gpu, software, precision).product({4096, 4096, 4096}).value();
  };
  double float32 = time(Precision::float32), tfloat32 = time(Precision::tfloat32),
         bfloat16 = time(Precision::bfloat16);
  software.gemm_fp32 = software.gemm / 2;
  EXPECT_DOUBLE_EQ(time(Precision::float32), 2 * float32);
  EXPECT_DOUBLE_EQ(time(Precision::tfloat32), tfloat32);
  software.gemm_tf32 = software.gemm / 4;
  EXPECT_DOUBLE_EQ(time(Precision::tfloat32), 4 * tfloat32);
  EXPECT_DOUBLE_EQ(time(Precision::bfloat16), bfloat16);
}

// Of 128 wide a kernel has its share, half as wide 0.8 of it, a quarter 0.64; wider ones have no more.
TEST(ComputeLaw, AttentionOfNarrowHeads) {
  auto software = software_of("fsdp-a100");
  software.narrow_heads = 0.8;
  ComputeLaw law(gpu_of("A100-80"), software, Precision::bfloat16);
  double wide = 312e12 * 0.315;
  EXPECT_DOUBLE_EQ(law.attention_kernel(1e12, 128).value(), 1e12 / wide);
  EXPECT_DOUBLE_EQ(law.attention_kernel(1e12, 256).value(), 1e12 / wide);
  EXPECT_DOUBLE_EQ(law.attention_kernel(1e12, 64).value(), 1e12 / (0.8 * wide));
  EXPECT_DOUBLE_EQ(law.attention_kernel(1e12, 32).value(), 1e12 / (0.64 * wide));
}

// Llama 2 7B: causal rows of 4,096 tokens take as long as 5,120 would; without a mask none is longer.
TEST(TransformerTimes, CausalRowsAreLonger) {
  auto software = software_of("fsdp-a100");
  software.host = 0_us;
  auto forward = [&](double ramp, bool causal) {
    software.attention_ramp = ramp;
    auto model = *find_transformer("llama-2-7b");
    model.causal = causal;
    StepShape shape{.micro_batch = 1, .sequence = 4096};
    return TransformerTimes(model, gpu_of("A100-80"), software, Precision::bfloat16, shape)
        .block()
        .forward.time;
  };
  double attention = 4 * 4096.0 * 4096 * 4096 / 2 / (312e12 * 0.315);
  EXPECT_NEAR((forward(1024, true) - forward(0, true)).value(), 0.25 * attention, 1e-12);
  EXPECT_EQ(forward(1024, false), forward(0, false));
}

// Llama 2 7B: 4096 wide, as many queries as keys; 125 bytes of each for 2,048 tokens, 31 % of it forward. The
// device's time grows by it, where the host is no matter. GPT-2 has learned positions.
TEST(TransformerTimes, RotaryEmbeddings) {
  auto software = software_of("fsdp-a100");
  software.host = 0_us;
  StepShape shape{.micro_batch = 1, .sequence = 2048};
  auto times = [&](const char* model) {
    return TransformerTimes(*find_transformer(model), gpu_of("A100-80"), software, Precision::bfloat16, shape)
        .block();
  };
  auto before = times("llama-2-7b"), gpt2 = times("gpt2");
  software.rotary_bytes = 125;
  auto after = times("llama-2-7b");
  double bytes = 125.0 * 2048 * 2 * 4096, rate = 0.85 * 2.039e12;
  EXPECT_NEAR((after.forward.time - before.forward.time).value(), 0.31 * bytes / rate, 1e-12);
  EXPECT_NEAR((after.backward.time - before.backward.time).value(), 0.69 * bytes / rate, 1e-12);
  EXPECT_EQ(times("gpt2").forward.time, gpt2.forward.time);
  software.host = Seconds(1);
  auto kernels = [&] { return times("llama-2-7b").forward.time / software.host; };
  double with = kernels();
  software.rotary_bytes = 0;
  EXPECT_NEAR(with - kernels(), 18, 1e-3);
}

// Llama 2 7B with four norms a block as Gemma 2 has, and with one as GPT-J: a norm reads and writes 2,048
// tokens of 4,096 values of 2 bytes; backward it reads two and writes one.
TEST(TransformerTimes, NormsOfABlock) {
  auto software = software_of("fsdp-a100");
  software.host = 0_us;
  StepShape shape{.micro_batch = 1, .sequence = 2048};
  auto times = [&](BlockNorms norms) {
    auto model = transformer_named("llama-2-7b");
    model.norms = norms;
    return TransformerTimes(model, gpu_of("A100-80"), software, Precision::bfloat16, shape).block();
  };
  auto two = times(BlockNorms::before), four = times(BlockNorms::both), one = times(BlockNorms::one);
  double pass = software.elementwise * 2 * 2048 * 4096 / (0.85 * 2.039e12);
  EXPECT_NEAR((four.forward.time - two.forward.time).value(), 2 * 2 * pass, 1e-12);
  EXPECT_NEAR((four.backward.time - two.backward.time).value(), 2 * 3 * pass, 1e-12);
  EXPECT_NEAR((two.forward.time - one.forward.time).value(), 2 * pass, 1e-12);
  EXPECT_EQ(times(BlockNorms::after).forward.time, two.forward.time);
  software.host = Seconds(1);
  EXPECT_NEAR((times(BlockNorms::both).forward.time - times(BlockNorms::before).forward.time) / software.host,
              2, 1e-3);
  EXPECT_NEAR(
      (times(BlockNorms::both).backward.time - times(BlockNorms::before).backward.time) / software.host, 4,
      1e-3);
}

// What comes after the feed-forward layer ends the forward pass, and its gradient is the first.
TEST(BlockSchedule, ANormAtTheEnd) {
  for (const char* name : {"olmo-2-7b", "gemma-2-2b", "gpt-j-6b"}) {
    auto model = transformer_named(name);
    auto part = transformer_parts(model, 128)[1];
    TransformerTimes times(model, gpu_of("A100-80"), software_of("fsdp-a100"), Precision::bfloat16,
                           {.micro_batch = 1, .sequence = 128});
    auto schedule = block_schedule(part, times.block());
    EXPECT_TRUE(std::ranges::is_sorted(schedule.forward_end)) << name;
    EXPECT_TRUE(std::ranges::is_sorted(schedule.backward_end, std::greater())) << name;
  }
}

// A block of Llama 2 7B has 202,383,360 parameters and its head 131,072,000: 6 bytes of each forward, where
// weights are float32 and computed in 16 bits; the gradients' casts are there without it.
TEST(TransformerTimes, AutocastsCopies) {
  auto software = software_of("fsdp-a100");
  software.host = 0_us;
  StepShape shape{.micro_batch = 1, .sequence = 2048};
  auto times = [&] {
    return TransformerTimes(*find_transformer("llama-2-7b"), gpu_of("A100-80"), software, Precision::bfloat16,
                            shape);
  };
  auto of_half = times().block().forward.time;
  software.weight_cast = 6;
  EXPECT_EQ(times().block().forward.time, of_half);
  shape.casts_gradients = true;
  auto with = times();
  software.weight_cast = 0;
  auto without = times();
  double rate = 0.85 * 2.039e12;
  EXPECT_NEAR((with.block().forward.time - without.block().forward.time).value(), 6 * 202383360 / rate,
              1e-12);
  EXPECT_EQ(with.block().backward.time, without.block().backward.time);
  EXPECT_NEAR((with.ends().head_forward - without.ends().head_forward).value(), 6 * 131072000 / rate, 1e-12);
}

// A hundred launches of 20 us take 2 ms; a device that takes as long is (1 + 1)^(1/3.86) = 1.197 times as
// slow.
TEST(ComputeLaw, TheHostsPace) {
  ComputeLaw law(gpu_of("A100-80"), Software{.gemm = 0.8, .host = 20_us}, Precision::bfloat16);
  EXPECT_NEAR(law.paced(2_ms, 100).value(), 2e-3 * 1.1967, 1e-6);
  EXPECT_NEAR(law.paced(200_ms, 100).value(), 0.2, 1e-9);
  EXPECT_NEAR(law.paced(Seconds(), 100).value(), 2e-3, 1e-12);
}

// Stages add up to the pass whatever paces it.
TEST(TransformerTimes, StagesAddUp) {
  TransformerTimes times(*find_transformer("gpt2"), gpu_of("A100-80"), software_of("megatron"),
                         Precision::float16, {.micro_batch = 1, .sequence = 128});
  auto block = times.block();
  Seconds sum;
  for (auto stage : block.forward.stages) sum += stage;
  EXPECT_NEAR(sum / block.forward.time, 1, 1e-12);
  EXPECT_GT(block.forward.host / block.forward.time, 0.9);  // a small model on a slow host
}

TEST(TransformerTimes, APrecisionThatTheGpuHasNot) {
  EXPECT_THROW(TransformerTimes(*find_transformer("gpt2"), gpu_of("A100-80"), software_of("megatron"),
                                Precision::float8, {.micro_batch = 1, .sequence = 128}),
               InputError);
}

}  // namespace
}  // namespace ddpsim
