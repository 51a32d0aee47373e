#pragma once
// What an optimizer keeps of each parameter, moves in its step and computes besides.
#include "sim/base/names.hpp"
#include "sim/model/transformer.hpp"

namespace ddpsim {

enum class OptimizerKind { adamw, sgd, momentum, adafactor, muon };
inline constexpr Names<OptimizerKind, 5> kOptimizerNames{{{"adamw", OptimizerKind::adamw},
                                                          {"sgd", OptimizerKind::sgd},
                                                          {"momentum", OptimizerKind::momentum},
                                                          {"adafactor", OptimizerKind::adafactor},
                                                          {"muon", OptimizerKind::muon}}};
// What moments are kept in; int8 with a float32 scale for every 256 of them (Dettmers et al., arXiv
// 2110.02861: blocks of 2048 with dynamic quantisation; bitsandbytes has 256).
enum class MomentType { float32, bfloat16, int8 };
inline constexpr Names<MomentType, 3> kMomentTypeNames{
    {{"fp32", MomentType::float32}, {"bf16", MomentType::bfloat16}, {"8bit", MomentType::int8}}};

struct Optimizer {
  OptimizerKind kind = OptimizerKind::adamw;
  MomentType moments = MomentType::float32;
  bool master = true;     // of 16-bit weights there is a float32 copy
  bool clip_norm = true;  // gradients by their norm, which ranks that hold different parts add up
  double matrices = 1;  // share of the parameters that are matrices of blocks: Muon's, the others are AdamW's
  bool fused = true;    // AdamW by one kernel; else by PyTorch's foreach, on a CPU one tensor at a time
  bool operator==(const Optimizer&) const = default;

  // Bytes of a parameter's moments: two of Adam's, one with momentum and of Muon's, none of plain SGD; of
  // Adafactor's rows and columns (Shazeer and Stern, arXiv 1804.04235, without momentum) next to none.
  [[nodiscard]] double moment_bytes() const;
  // Of all that it keeps of a parameter held in `weights` bytes.
  [[nodiscard]] double state_bytes(double weights) const {
    return moment_bytes() + (weights < 4 && master ? 4 : 0);
  }
  // Bytes that its step moves of a parameter, where AdamW with float32 moments moves so many: moments are
  // read and written; without a copy 16-bit weights are (4), instead of the copy and a 16-bit result (10).
  // Foreach goes over them again and again: 2.3 times as long on an H200, 2.6 on an H100 (float32 of
  // measurements/h200/optimizer.csv and h100's).
  [[nodiscard]] double moved_bytes(double of_adamw, bool has_16_bit_weights) const {
    constexpr double kForeach = 2.4;
    double moved = of_adamw - 16 + 2 * moment_bytes() - (has_16_bit_weights && !master ? 6 : 0);
    return fused ? moved : kForeach * moved;
  }
};

// Share of a model's parameters that are matrices of its blocks.
double share_of_matrices(const Transformer& model, std::int64_t sequence);

// Operations of Muon's step, over the model's parameters: five steps of Newton-Schulz on every m x n matrix
// of a block (m <= n), X <- aX + (bA + cAA)X with A = XX', 4 m^2 n + 2 m^3 each (K. Jordan et al., "Muon",
// 2024).
double muon_operations(const Transformer& model);

}  // namespace ddpsim
