#pragma once
// All-reduces of their own, measured before a scenario is run, from which its times are predicted.
#include <optional>
#include <string>
#include <vector>

#include "validate/harness/step.hpp"

#include "sim/collective/backend.hpp"
#include "sim/engine/scenario.hpp"

namespace ddpsim::validate {

// One size, alone and, where it was measured, behind another one.
struct MeasuredAllReduce {
  Bytes bytes;
  Seconds time;                   // median
  std::optional<Seconds> spread;  // standard deviation
  std::optional<Seconds> queued;

  [[nodiscard]] BytesPerSecond algbw() const { return bytes / time; }
  // As nccl-tests defines it (doc/PERFORMANCE.md): algbw x 2(n-1)/n.
  [[nodiscard]] BytesPerSecond busbw(int world_size) const {
    return algbw() * (2.0 * (world_size - 1) / world_size);
  }
};

// From 1 KiB, or below the smallest bucket, to beyond the largest, each twice the one before. None is
// within 2 % of a bucket of these scenarios: a prediction has to interpolate. (Nothing is below a bucket of
// four bytes.)
std::vector<Bytes> calibration_sizes(const std::vector<Scenario>& scenarios);

// Two steps a size: one all-reduce, and several launched at once (none beyond 32 MiB, where it makes no
// difference).
std::vector<Step> all_reduce_steps(const std::vector<Bytes>& sizes, const Sampling& sampling);
// What they took. A queued one takes what each beyond the first adds to the step.
std::vector<MeasuredAllReduce> measured_all_reduces(const RunResult& result, const std::vector<Bytes>& sizes);

// As an all-reduce table (docs/formats.md).
std::string all_reduce_table(const std::vector<MeasuredAllReduce>& measured, int world_size, Backend backend,
                             const std::string& source);

// `total` all-reduced in chunks of each size, all launched at once (Li et al., PyTorch Distributed, VLDB
// 2020, figure 2).
std::vector<Step> chunk_steps(Bytes total, const std::vector<Bytes>& chunks, const Sampling& sampling);

}  // namespace ddpsim::validate
