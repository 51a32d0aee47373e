#include "sim/compute/transformer_times.hpp"

#include <map>

#include <gtest/gtest.h>

#include "sim/base/csv.hpp"
#include "sim/base/input_file.hpp"

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
