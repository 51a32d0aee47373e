#pragma once
// PowerSGD, PyTorch's torch/distributed/algorithms/ddp_comm_hooks/powerSGD_hook.py: gradients as products of
// two thin matrices, of which each is all-reduced by itself. The rules of 2.15; those of 1.13 and 2.4 are the
// same.
#include <cstdint>
#include <span>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/trace/layer_trace.hpp"

namespace ddpsim {

// PowerSGDState and its defaults.
struct PowerSgd {
  int rank = 1;                     // matrix_approximation_rank
  int start_iteration = 1000;       // start_powerSGD_iter: whole buckets are all-reduced before
  double min_compression_rate = 2;  // a tensor that is not compressed by more stays whole
  bool error_feedback = true;       // what compression loses is added to the next iteration's gradients
  bool warm_start = true;           // Q starts as the iteration before left it
  bool operator==(const PowerSgd&) const = default;
};

// A gradient as a matrix: its parameter's first dimension, and all others together.
struct LowRank {
  std::int64_t rows = 0, columns = 0;
  int rank = 0;  // of its product; 0: all-reduced whole
};

struct LowRankPlan {
  PowerSgd options;
  std::vector<LowRank> gradients;  // by gradient of the trace
};

// `rows`: each parameter's first dimension, by gradient.
LowRankPlan low_rank_plan(const LayerTrace& trace, std::span<const std::int64_t> rows,
                          const PowerSgd& options);

// What a bucket's three all-reduces carry, one after the other; an empty one is left out.
struct LowRankElements {
  std::int64_t whole = 0, p = 0, q = 0;
  [[nodiscard]] std::int64_t sum() const { return whole + p + q; }
};
LowRankElements low_rank_elements(const LowRankPlan& plan, std::span<const std::size_t> gradients);

}  // namespace ddpsim
