// What optimizers keep, move and compute.
#include "sim/compute/optimizer.hpp"

#include <gtest/gtest.h>

#include "sim/compute/model_step.hpp"

namespace ddpsim::testing {
namespace {

using Kind = OptimizerKind;
using Type = MomentType;

TEST(Optimizer, WhatItKeepsOfAParameter) {
  EXPECT_EQ(Optimizer().state_bytes(4), 8);   // two float32 moments
  EXPECT_EQ(Optimizer().state_bytes(2), 12);  // and a float32 copy: K of arXiv 1910.02054
  EXPECT_EQ((Optimizer{Kind::adamw, Type::bfloat16, false}.state_bytes(2)), 4);
  EXPECT_EQ((Optimizer{Kind::adamw, Type::int8, false}.state_bytes(2)), 2 + 8.0 / 256);
  EXPECT_EQ((Optimizer{Kind::sgd}.state_bytes(4)), 0);
  EXPECT_EQ((Optimizer{Kind::momentum}.state_bytes(2)), 8);
  EXPECT_EQ((Optimizer{Kind::adafactor}.state_bytes(2)), 4);
  EXPECT_EQ((Optimizer{Kind::muon, Type::float32, true, true, 0.75}.state_bytes(4)), 0.75 * 4 + 0.25 * 8);
}

// AdamW reads and writes 16 bytes of moments; what else a step moves stays.
TEST(Optimizer, WhatItsStepMoves) {
  EXPECT_EQ(Optimizer().moved_bytes(34, true), 34);
  EXPECT_EQ((Optimizer{Kind::sgd}.moved_bytes(34, true)), 18);
  EXPECT_EQ((Optimizer{Kind::momentum}.moved_bytes(34, true)), 26);
  EXPECT_EQ((Optimizer{Kind::adamw, Type::bfloat16}.moved_bytes(34, true)), 26);
  // Weights are read and written at 2 bytes, not at 4 and the result of 2 besides.
  EXPECT_EQ((Optimizer{Kind::adamw, Type::float32, false}.moved_bytes(34, true)), 34 - (4 + 4 + 2) + (2 + 2));
  EXPECT_EQ((Optimizer{Kind::adamw, Type::float32, false}.moved_bytes(34, false)), 34);
}

// Of a 1024-wide block with four square projections and two 1024 x 4096 matrices:
// each square matrix 6 m^3, each of the others 4 m^2 x 4 m + 2 m^3 = 18 m^3.
TEST(Optimizer, WhatMuonComputes) {
  Transformer model;
  model.layers = 3;
  model.hidden = 1024;
  model.heads = model.kv_heads = 16;
  model.head_dim = 64;
  model.ffn = 4096;
  model.gated = false;
  double cube = 1024.0 * 1024 * 1024;
  EXPECT_DOUBLE_EQ(muon_operations(model), 3 * 5 * (4 * 6 + 2 * 18) * cube);
}

TEST(Optimizer, StatesOfAStep) {
  TransformerStep step;
  step.gradients = DType::bfloat16;
  EXPECT_EQ(state_bytes(step), (StateBytes{2, 2, 12, 0}));
  step.optimizer = {Kind::adamw, Type::bfloat16, false};
  EXPECT_EQ(state_bytes(step), (StateBytes{2, 2, 4, 0}));
  EXPECT_EQ(mixed_precision_state(DType::bfloat16, DType::float32, step.optimizer), (StateBytes{2, 4, 4, 0}));
  step.gradients = DType::float32;  // weights of 32 bits have no copy, and autocast's besides
  EXPECT_EQ(state_bytes(step), (StateBytes{4, 4, 4, 0, 2}));
}

}  // namespace
}  // namespace ddpsim::testing
