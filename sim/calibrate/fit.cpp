#include "sim/calibrate/fit.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "sim/calibrate/band_check.hpp"
#include "sim/calibrate/curve_fit.hpp"

namespace ddpsim::calibrate {
namespace {

using Calibration = nccl::Calibration;

void check_can_be_fitted(const Measurement& m) {
  auto operation = m.collective.operation;
  if (m.has_lines() ? nccl::has_lines(operation) : nccl::has_curves(operation)) return;
  auto what = m.has_lines() ? " inside a node" : m.across_nodes() ? " across nodes" : " over PCIe";
  throw InputError(m.place(),
                   fmt::format("times of {}{} can be judged, not fitted", operation_name(operation), what),
                   m.has_lines() ? "lines are fitted to all_reduce, all_gather, reduce_scatter and "
                                   "all_to_all; give this table to --judge"
                                 : "curves are fitted to all_reduce; give this table to --judge");
}

bool is_same(const Calibration::Entry& a, const Calibration::Entry& b) {
  return a.algorithm == b.algorithm && a.across_nodes == b.across_nodes;
}

// Lines share parameters: where those of an operation make a band worse, what was known of it stays.
void leave_worse_lines(const std::vector<const Measurement*>& in_node, const Calibration& known,
                       MachineFit& fit) {
  Calibration fitted = known;
  fitted.node.clear();
  for (const auto& lines : fit.lines) fitted.node.push_back(lines.entry);
  std::erase_if(fit.lines, [&](const FittedLines& lines) {
    std::vector<const Measurement*> tables;
    for (const auto* m : in_node)
      if (m->collective.operation == lines.entry.operation) tables.push_back(m);
    auto worse = worse_band(tables, known, fitted);
    if (worse)
      fit.notes.push_back({"calibration-band",
                           fmt::format("the lines of {} in a node would be {}: they are left as they were",
                                       operation_name(lines.entry.operation), worse->text())});
    return worse.has_value();
  });
}

}  // namespace

MachineFit fit_machine(const std::vector<Measurement>& machine, const Calibration& known) {
  std::vector<const Measurement*> in_node, elsewhere;
  for (const auto& measurement : machine) {
    check_can_be_fitted(measurement);
    (measurement.has_lines() ? in_node : elsewhere).push_back(&measurement);
  }
  MachineFit fit;
  fit.curves = fit_curves(elsewhere, known, fit.notes);
  fit.lines = fit_lines(in_node, known);
  leave_worse_lines(in_node, known, fit);
  if (!machine.empty() && fit.curves.empty() && fit.lines.empty() && fit.notes.empty())
    throw InputError(machine.front().place(),
                     "less than five rows of this machine went over a ring, which has a curve of its own",
                     "measure more sizes from 256 KiB on");
  return fit;
}

Calibration average(const std::vector<MachineFit>& machines) {
  Calibration result;
  for (const auto& machine : machines) {
    for (auto entry : machine.curves) {
      if (result.find(entry.algorithm, entry.across_nodes)) continue;
      std::vector<nccl::Curve> curves;
      for (const auto& other : machines)
        for (const auto& curve : other.curves) {
          if (!is_same(curve, entry)) continue;
          curves.push_back(curve.curve);
          entry.nodes = std::max(entry.nodes, curve.nodes);
        }
      entry.curve = mean_of(curves);
      result.entries.push_back(entry);
    }
    for (const auto& lines : machine.lines) {
      if (result.in_node(lines.entry.operation)) continue;
      std::vector<FittedLines> all;
      for (const auto& other : machines)
        for (const auto& one : other.lines)
          if (one.entry.operation == lines.entry.operation) all.push_back(one);
      result.node.push_back(mean_of(all).entry);
    }
  }
  return result;
}

Calibration with_rest_of(const Calibration& known, Calibration fitted) {
  for (const auto& entry : known.entries)
    if (!fitted.find(entry.algorithm, entry.across_nodes)) fitted.entries.push_back(entry);
  for (const auto& entry : known.node)
    if (!fitted.in_node(entry.operation)) fitted.node.push_back(entry);
  return fitted;
}

std::vector<Point> points_of_curve(const Measurement& m, const Calibration::Entry& entry) {
  if (m.has_lines() || m.across_nodes() != entry.across_nodes || !nccl::has_curves(m.collective.operation))
    return {};
  return CurveSample(m).points(entry.algorithm);
}

std::vector<Point> points_of_lines(const Measurement& m, const Calibration::NodeEntry& entry) {
  if (!m.has_lines() || m.collective.operation != entry.operation) return {};
  return points_on_lines(m);
}

std::vector<Point> fitted_points(const Measurement& measurement, const Calibration& calibration) {
  std::vector<Point> points;
  auto add = [&](std::vector<Point> more) { points.insert(points.end(), more.begin(), more.end()); };
  for (const auto& entry : calibration.entries) add(points_of_curve(measurement, entry));
  for (const auto& entry : calibration.node) add(points_of_lines(measurement, entry));
  return points;
}

}  // namespace ddpsim::calibrate
