#pragma once
// Fits the curves of all-reduces across nodes and over PCIe (sim/nccl/curve.hpp) to measured tables.
#include <vector>

#include "sim/base/note.hpp"
#include "sim/calibrate/measurement.hpp"
#include "sim/nccl/tuner.hpp"

namespace ddpsim::calibrate {

// What is believed before anything is measured: parameters, and how far they may be off (in logarithms).
struct Prior {
  nccl::Curve mean;
  double latency_width, efficiency_width, ramp_width;
};
// Of curves like `entry`; `known`: one for machines of this class. Without one it knows little of machines
// with NVLink and next to nothing of others.
Prior prior_for(const Measurement& measurement, nccl::Algorithm algorithm, const nccl::Curve* known);

// A table, as a curve is fitted to it.
class CurveSample {
 public:
  explicit CurveSample(const Measurement& measurement);

  [[nodiscard]] const Measurement& measurement() const { return *measurement_; }
  // Whose curve the tuner's pick is read off: across nodes rings have their own, and everything else that of
  // what carries large messages.
  [[nodiscard]] nccl::Algorithm curve_of(Bytes bytes) const;
  [[nodiscard]] nccl::Algorithm large_algorithm() const { return shape_.large_algorithm(); }
  // The rows that are read off that algorithm's curve; the large ones.
  [[nodiscard]] std::vector<Point> points(nccl::Algorithm algorithm, Bytes from = kLarge) const;
  [[nodiscard]] Seconds time(const nccl::Curve& curve, Bytes bytes) const;

 private:
  const Measurement* measurement_;
  nccl::CurveShape shape_;
  nccl::Tuner tuner_;  // which picks
};

// One curve for these rows of all samples, of `from` bytes and more: Huber loss of ln(predicted/measured),
// 5 % the unit, knee 1.5.
nccl::Curve fit_curve(const std::vector<CurveSample>& samples, nccl::Algorithm algorithm, const Prior& prior,
                      Bytes from = kLarge);

// Every curve that the tables of one machine inform, with `known` as prior where it has one: that of the
// algorithm of large messages, and of others that five rows or more are read off. None makes a band of sizes
// worse than `known` has it: it is fitted to large rows, or to small ones as well, or its latency stays what
// was known, and where nothing helps it is left out. The latter three are said in `notes`.
std::vector<nccl::Calibration::Entry> fit_curves(const std::vector<const Measurement*>& machine,
                                                 const nccl::Calibration& known, std::vector<Note>& notes);

// The geometric mean.
nccl::Curve mean_of(const std::vector<nccl::Curve>& curves);

}  // namespace ddpsim::calibrate
