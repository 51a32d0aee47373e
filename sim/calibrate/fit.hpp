#pragma once
// Fits the curves of NCCL's cost model (sim/nccl/cost_model.hpp) to measured all-reduce tables.
#include <optional>
#include <string>
#include <vector>

#include "sim/calibrate/allreduce_table.hpp"
#include "sim/nccl/cost_model.hpp"

namespace ddpsim::calibrate {

// Smaller messages are not fitted: DDP sends few of them, and the model is not made for them.
inline constexpr Bytes kSmallestFitted(256 * 1024.0);

// A table, and what the curves of the machine it was measured on look like.
struct Measurement {
  AllReduceTable table;
  int ranks = 0, nodes = 1;
  bool nvlink = true;  // within nodes
  nccl::CurveShape shape;

  [[nodiscard]] bool across_nodes() const { return nodes > 1; }
};

// What is believed before anything is measured: parameters, and how far they may be off (in logarithms).
struct Prior {
  nccl::Curve mean;
  double latency_width, efficiency_width, ramp_width;
};
// `known`: a curve for machines of this class. Without one it knows little of NVLink machines and next to
// nothing of others.
Prior prior_for(const Measurement& measurement, const nccl::Curve* known);

// One point: the faster of out of place and in place (a stall only adds time).
struct Point {
  Bytes bytes;
  Seconds measured;
  SourceSpan span;
  std::optional<double> places_ratio;  // out of place over in place
};
std::vector<Point> points_of(const AllReduceTable& table);  // of fitted sizes

struct Sample {
  const Measurement* measurement;
  std::vector<Point> points;
};
// One curve for all samples: Huber loss of ln(predicted/measured), 5 % the unit, knee 1.5.
nccl::Curve fit_curve(const std::vector<Sample>& samples, const Prior& prior);

// Every curve that some measurement of the machine informs, with `known` as prior where it has one.
nccl::Calibration fit_machine(const std::vector<Measurement>& machine, const nccl::Calibration& known);
// The geometric mean of the curves that several machines have for the same; nothing else can be said of a
// class of machines that differ.
nccl::Calibration average(const std::vector<nccl::Calibration>& machines);

}  // namespace ddpsim::calibrate
