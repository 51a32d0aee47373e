// Times of recorded operators against the law that they are from.
#include "sim/compute/operator_times.hpp"

#include <gtest/gtest.h>

#include "sim/text/gpu_file.hpp"
#include "sim/text/presets.hpp"

namespace ddpsim::testing {
namespace {

GpuDescription h100() {
  return read_gpu(find_preset(PresetKind::gpus, "h100-sxm").value());
}

Software eager() {
  Software software;
  software.gemm = 0.7;
  software.attention = 0.5;
  software.elementwise = 2;
  return software;
}

RecordedOperator of(std::string name, std::vector<std::vector<std::int64_t>> shapes, double flops = 1) {
  RecordedOperator op;
  op.name = std::move(name);
  op.dtype = "bfloat16";
  op.shapes = std::move(shapes);
  op.flops = flops;
  op.read = op.written = 1e6;
  return op;
}

struct Times {
  explicit Times(const RecordedOperator& op) { recording.items = {op}; }
  [[nodiscard]] Seconds of_it() const {
    return OperatorTimes(recording, gpu, software).of(std::get<RecordedOperator>(recording.items.front()));
  }
  [[nodiscard]] ComputeLaw law(Precision precision = Precision::bfloat16) const {
    return {gpu, software, precision};
  }
  GpuDescription gpu = h100();
  Software software = eager();
  Recording recording;
};

TEST(OperatorTimes, ProductsAreThoseOfTheirShapes) {
  Times mm(of("mm", {{8192, 1024}, {1024, 4096}}));
  EXPECT_EQ(mm.of_it(), mm.law().product({8192, 4096, 1024}));
  Times addmm(of("addmm", {{4096}, {8192, 1024}, {1024, 4096}}));
  EXPECT_EQ(addmm.of_it(), mm.of_it());
  Times bmm(of("bmm", {{16, 512, 64}, {16, 64, 512}}));
  EXPECT_EQ(bmm.of_it(), bmm.law().product({512, 512, 64, Tokens::m, 16}));
  Times grouped(of("_grouped_mm", {{4096, 1024}, {8, 1024, 2048}, {8}}));
  EXPECT_EQ(grouped.of_it(), grouped.law().product({512, 2048, 1024, Tokens::m, 8}));
  Times of_weights(of("_grouped_mm", {{1024, 4096}, {4096, 2048}, {8}}));
  EXPECT_EQ(of_weights.of_it(), of_weights.law().product({1024, 2048, 512, Tokens::k, 8}));
  Times unknown(of("_trilinear", {}, 1e12));
  EXPECT_EQ(unknown.of_it(), unknown.law().products(1e12));
}

// Tokens need no alignment, a weight's dimensions do: what a gradient's parameter tells apart.
TEST(OperatorTimes, AWeightsGradientAddsTokensUp) {
  auto op = of("mm", {{50257, 8192}, {8192, 1024}});
  op.phase = RecordedPhase::backward;
  Times times(op);
  EXPECT_EQ(times.of_it(), times.law().product({50257, 1024, 8192, Tokens::m}));
  times.recording.parameters = {{"head.weight", 50257 * 1024, "bfloat16", true, {50257, 1024}}};
  EXPECT_EQ(times.of_it(), times.law().product({50257, 1024, 8192, Tokens::k}));
  EXPECT_GT(times.of_it(), times.law().product({50257, 1024, 8192, Tokens::m}));
}

// FlopCounterMode counts masked scores too.
TEST(OperatorTimes, CausalAttentionTakesHalf) {
  auto op = of("_scaled_dot_product_flash_attention",
               {{8, 16, 1024, 128}, {8, 16, 1024, 128}, {8, 16, 1024, 128}}, 1e12);
  Times all(op);
  EXPECT_EQ(all.of_it(), all.law().attention_kernel(1e12, 128));
  op.is_causal = true;
  Times causal(op);
  EXPECT_DOUBLE_EQ(causal.of_it() / all.of_it(), (1 + 1.0 / 1024) / 2);
  causal.software.causal_skip = false;
  EXPECT_EQ(causal.of_it(), all.of_it());
}

// Its tensors have tokens before heads.
TEST(OperatorTimes, FlashAttnIsAttention) {
  auto op = of("flash_attn::_flash_attn_forward",
               {{8, 1024, 16, 128}, {8, 1024, 16, 128}, {8, 1024, 16, 128}}, 1e12);
  op.is_causal = true;
  Times times(op);
  EXPECT_EQ(times.of_it(), times.law().attention_kernel(1e12 * (1 + 1.0 / 1024) / 2, 128));
}

// Without a formula of PyTorch's a product is that of its shapes all the same.
TEST(OperatorTimes, ProductsNeedNoOperations) {
  auto op = of("mm", {{8192, 1024}, {1024, 4096}}, 0);
  op.dtype = "float32";
  Times times(op);
  EXPECT_EQ(times.of_it(), times.law(Precision::float32).product({8192, 4096, 1024}));
}

TEST(OperatorTimes, OthersTakeWhatTheyMove) {
  auto gelu = of("gelu", {}, 0);
  Times eager_gelu(gelu);
  EXPECT_EQ(eager_gelu.of_it(), 2 * eager_gelu.law().traffic(2e6));
  gelu.is_compiled = true;
  EXPECT_DOUBLE_EQ(Times(gelu).of_it() / eager_gelu.of_it(), 0.5);
  Times copy(of("fsdp::split_with_sizes_copy", {}, 0));
  EXPECT_EQ(copy.of_it(), copy.law().traffic(2e6));
  auto step = of("_foreach_lerp_", {}, 0);
  step.phase = RecordedPhase::optimizer;
  EXPECT_EQ(Times(step).of_it(), copy.of_it());
  auto nothing = of("fsdp::record_grad_output_stream", {}, 0);
  nothing.written = 0;
  EXPECT_EQ(Times(nothing).of_it(), Seconds());
  Times convolution(of("convolution", {}, 1e12));
  EXPECT_EQ(convolution.of_it(), convolution.law().products(1e12));
}

TEST(OperatorTimes, Float32IsInTf32WhereTheScriptSaysSo) {
  auto op = of("mm", {{8192, 1024}, {1024, 4096}});
  op.dtype = "float32";
  Times times(op);
  EXPECT_EQ(times.of_it(), times.law(Precision::float32).product({8192, 4096, 1024}));
  times.recording.cudnn_in_tf32 = true;
  EXPECT_EQ(times.of_it(), times.law(Precision::float32).product({8192, 4096, 1024}));
  times.recording.matmul_in_tf32 = true;
  EXPECT_EQ(times.of_it(), times.law(Precision::tfloat32).product({8192, 4096, 1024}));
}

// What the host launches in a pass over a block, and what the device takes there, by the law's queue; another
// stream's kernels are launched by the same host.
TEST(OperatorTimes, TheHostPacesABlock) {
  auto small = of("gelu", {}, 0);
  small.module = 1;
  auto other = small;
  other.module = 2;
  auto beside = small;
  beside.stream = 1;
  RecordedWork work{{}, h100(), eager(), Precision::bfloat16};
  work.software.host = Seconds(1);
  auto recording = std::make_shared<Recording>();
  recording->modules = {"", "blocks.0.mlp", "blocks.1.mlp"};
  recording->items = {small, small, beside, other};
  work.recordings = {recording};
  auto step = timed(work).front();
  ComputeLaw law(work.gpu, work.software, Precision::bfloat16);
  Seconds device = 2 * law.traffic(2e6);
  EXPECT_NEAR((step->times[0] + step->times[1]).value(), law.paced(2 * device, 3).value(), 1e-12);
  EXPECT_EQ(step->times[2], device);
  EXPECT_NEAR(step->times[3].value(), law.paced(device, 1).value(), 1e-12);
}

}  // namespace
}  // namespace ddpsim::testing
