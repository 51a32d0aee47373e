#pragma once
// What PowerSGD computes around a bucket's all-reduces.
#include "sim/ddp/reduction_plan.hpp"
#include "sim/program/physics.hpp"

namespace ddpsim {

struct CompressionTimes {
  Seconds before;   // what the last iteration lost is added, Q is orthogonal, P = M Q
  Seconds unpack;   // what is all-reduced whole is divided and copied back
  Seconds between;  // P is orthogonal, Q = M^T P
  Seconds after;    // M = P Q^T, and what is lost
};

// Each kernel takes overheads.pass_launch, and besides what it moves over overheads.pass_bandwidth or what it
// multiplies over overheads.product_rate, whichever is longer. docs/model.md has the kernels.
CompressionTimes compression_times(const Bucket& bucket, const LowRankPlan& plan, const Overheads& overheads);

}  // namespace ddpsim
