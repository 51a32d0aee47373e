#include "sim/cli/point_runs.hpp"

#include <vector>

#include "sim/engine/run_all.hpp"

namespace ddpsim::cli {
namespace {

// What a point has to simulate: itself, and before it both ends of its range.
struct Runs {
  std::vector<Scenario> scenarios;
  std::vector<std::size_t> last;  // by point

  explicit Runs(std::span<const Scenario> points) {
    for (const auto& point : points) {
      if (const auto& range = point.physics.range)
        for (const auto& interference : {range->least, range->most})
          scenarios.emplace_back(point).physics.interference = interference;
      last.push_back(scenarios.size());
      scenarios.push_back(point);
    }
  }
};

}  // namespace

void run_points(std::span<const Scenario> points, unsigned jobs,
                const std::function<void(std::size_t, const Prediction&, IterationMetrics)>& on_point) {
  Runs runs(points);
  std::size_t point = 0;
  std::vector<Seconds> ends;
  run_all(runs.scenarios, jobs, simulator_for, [&](std::size_t i, const Prediction& prediction) {
    auto metrics = metrics_of(runs.scenarios[i], prediction);
    if (i < runs.last[point]) return ends.push_back(metrics.iteration);
    if (!ends.empty()) metrics.range = IterationRange{ends[0], ends[1]};
    ends.clear();
    on_point(point++, prediction, std::move(metrics));
  });
}

}  // namespace ddpsim::cli
