#include "sim/compute/roofline.hpp"

#include <gtest/gtest.h>

#include "sim/compute/transformer_layers.hpp"

#include "tests/compute/gpus.hpp"
#include "tests/support/errors.hpp"

namespace ddpsim {
namespace {

using testing::small_gpu;

const Batch kBatch{10, 100};  // 1000 tokens

TEST(LayerPass, FlopsOfTokensAndPositions) {
  LayerPass pass{.flops_per_token = 2e6, .flops_per_token_and_position = 300};
  EXPECT_EQ(pass.flops(kBatch), Flops(2e9 + 3e7));  // 1000 x 2e6 + 1000 x 100 x 300
}

TEST(LayerPass, BytesOfTokensPositionsAndWeights) {
  LayerPass pass{.values_per_token = 2000, .values_per_token_and_position = 3, .weights = 1e6};
  // 1000 x 2000 + 1000 x 100 x 3 + 1e6 = 3.3e6 values
  EXPECT_EQ(pass.bytes(kBatch, DType::float32), Bytes(13.2e6));
  EXPECT_EQ(pass.bytes(kBatch, DType::bfloat16), Bytes(6.6e6));
}

TEST(LayerPass, BackwardIsTwiceAsMuchOfEverything) {
  auto pass = twice({1, 2, 3, 4, 5, 6});
  EXPECT_EQ(pass.flops_per_token, 2);
  EXPECT_EQ(pass.flops_per_token_and_position, 4);
  EXPECT_EQ(pass.values_per_token, 6);
  EXPECT_EQ(pass.values_per_token_and_position, 8);
  EXPECT_EQ(pass.weights, 10);
  EXPECT_EQ(pass.kernels, 12);
}

// A matrix of 1000 x 1000: 2e9 operations at 0.5 x 1 TFLOP/s are 4 ms; (1000 x 2000 + 1e6) x 4 B at
// 0.5 x 100 GB/s are 0.24 ms.
TEST(Roofline, ComputeBound) {
  auto roofline = make_roofline(small_gpu(), DType::float32, {0.5, 0.5});
  LayerPass pass{.flops_per_token = 2e6, .values_per_token = 2000, .weights = 1e6};
  EXPECT_DOUBLE_EQ(roofline.time(pass, kBatch).value(), 4e-3 + 5e-6);
}

// 1000 x 2e5 x 4 B at 50 GB/s are 16 ms, more than the 4 ms of the operations; two launches.
TEST(Roofline, MemoryBound) {
  auto roofline = make_roofline(small_gpu(), DType::float32, {0.5, 0.5});
  LayerPass pass{.flops_per_token = 2e6, .values_per_token = 2e5, .kernels = 2};
  EXPECT_DOUBLE_EQ(roofline.time(pass, kBatch).value(), 16e-3 + 10e-6);
}

TEST(Roofline, NeedsThePeak) {
  EXPECT_EQ(testing::input_error([] { make_roofline(small_gpu(), DType::float16, {}); }),
            "error: Small has no peak for float16\n"
            "hint: its file has one for float32");
}

// 124,439,808 parameters x 28 B.
TEST(Roofline, OptimizerMoves28BytesAParameter) {
  EXPECT_EQ(optimizer_bytes(transformer_layers(gpt2_presets()[0], 1024), DType::float32),
            Bytes(124439808.0 * 28));
  EXPECT_EQ(optimizer_bytes(transformer_layers(gpt2_presets()[0], 1024), DType::bfloat16),
            Bytes(124439808.0 * 14));
}

}  // namespace
}  // namespace ddpsim
