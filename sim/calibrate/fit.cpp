#include "sim/calibrate/fit.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/check.hpp"
#include "sim/calibrate/least_squares.hpp"

namespace ddpsim::calibrate {
namespace {

constexpr double kUnitError = 0.05;  // a residual of 1: what such measurements are good to

std::vector<double> logarithms(const nccl::Curve& curve) {
  constexpr double kLeastRamp = 1e-9;  // none at all has no logarithm
  return {std::log(curve.latency_scale), std::log(curve.efficiency),
          std::log(std::max(curve.ramp.value(), kLeastRamp))};
}

nccl::Curve from_logarithms(const std::vector<double>& parameters) {
  return {std::exp(parameters[0]), std::exp(parameters[1]), Seconds(std::exp(parameters[2]))};
}

bool is_of(const Measurement& measurement, const nccl::Calibration::Entry& entry) {
  return measurement.shape.large_algorithm() == entry.algorithm &&
         measurement.across_nodes() == entry.across_nodes;
}

bool has(const nccl::Calibration& calibration, const nccl::Calibration::Entry& entry) {
  return calibration.find(entry.algorithm, entry.across_nodes) != nullptr;
}

}  // namespace

Prior prior_for(const Measurement& measurement, const nccl::Curve* known) {
  if (known) return {*known, 0.5, 0.06, 0.35};
  auto bandwidth = measurement.shape.bandwidth(measurement.shape.large_algorithm());
  if (measurement.nvlink && bandwidth > BytesPerSecond(50e9))
    return {{1.5, 1, Seconds(15e-6)}, 0.5, 0.15, 0.7};
  // Of slow links a ramp of some share of what 4 MiB take.
  return {{1.5, 1, 0.15 * (Bytes(4 * 1048576.0) / bandwidth)}, 0.7, 1.0, 1.5};
}

std::vector<Point> points_of(const AllReduceTable& table) {
  std::vector<Point> points;
  for (const auto& row : table.rows) {
    if (row.bytes < kSmallestFitted) continue;
    Point point{row.bytes, row.out_of_place, row.span, {}};
    if (row.in_place) {
      point.measured = std::min(point.measured, *row.in_place);
      point.places_ratio = row.out_of_place / *row.in_place;
    }
    points.push_back(std::move(point));
  }
  return points;
}

nccl::Curve fit_curve(const std::vector<Sample>& samples, const Prior& prior) {
  LeastSquares problem;
  problem.mean = logarithms(prior.mean);
  problem.width = {prior.latency_width, prior.efficiency_width, prior.ramp_width};
  problem.residuals = [&](const std::vector<double>& parameters) {
    auto curve = from_logarithms(parameters);
    std::vector<double> residuals;
    for (const auto& sample : samples)
      for (const auto& point : sample.points)
        residuals.push_back(std::log(sample.measurement->shape.time(curve, point.bytes) / point.measured) /
                            kUnitError);
    return residuals;
  };
  return from_logarithms(minimize(problem));
}

nccl::Calibration fit_machine(const std::vector<Measurement>& machine, const nccl::Calibration& known) {
  nccl::Calibration calibration;
  for (const auto& measurement : machine) {
    nccl::Calibration::Entry entry{measurement.shape.large_algorithm(), measurement.across_nodes(), {}};
    if (has(calibration, entry)) continue;
    std::vector<Sample> samples;
    for (const auto& other : machine)
      if (is_of(other, entry)) samples.push_back({&other, points_of(other.table)});
    entry.curve = fit_curve(samples, prior_for(measurement, known.find(entry.algorithm, entry.across_nodes)));
    calibration.entries.push_back(entry);
  }
  return calibration;
}

nccl::Calibration average(const std::vector<nccl::Calibration>& machines) {
  nccl::Calibration result;
  for (const auto& machine : machines)
    for (auto entry : machine.entries) {
      if (has(result, entry)) continue;
      std::vector<double> sum(3, 0.0);
      double count = 0;
      for (const auto& other : machines)
        if (const auto* curve = other.find(entry.algorithm, entry.across_nodes)) {
          auto parameters = logarithms(*curve);
          for (std::size_t j = 0; j < sum.size(); ++j) sum[j] += parameters[j];
          ++count;
        }
      for (double& value : sum) value /= count;
      entry.curve = from_logarithms(sum);
      result.entries.push_back(entry);
    }
  return result;
}

}  // namespace ddpsim::calibrate
