#pragma once
// What stands beside results that come of traces nobody recorded.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/result/metrics.hpp"

namespace ddpsim {

// "trace: estimated, not recorded (FLOPs)", each way to estimate once; empty where all traces were recorded.
// `metrics_of` gives the metrics of a point.
template <class Point, class MetricsOf>
std::string synthetic_note(const std::vector<Point>& points, MetricsOf metrics_of) {
  std::vector<std::string> marks;
  for (const auto& point : points)
    if (const auto& mark = metrics_of(point).trace_synthetic;
        mark && std::find(marks.begin(), marks.end(), *mark) == marks.end())
      marks.push_back(*mark);
  return marks.empty() ? "" : fmt::format("trace: {}", fmt::join(marks, "; "));
}

}  // namespace ddpsim
