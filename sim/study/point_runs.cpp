#include "sim/study/point_runs.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "sim/base/check.hpp"
#include "sim/study/iteration_range.hpp"
#include "sim/study/run_all.hpp"

namespace ddpsim {
namespace {

// What a point has to simulate: itself, and before it both ends of its range.
struct Runs {
  std::vector<ScenarioVariant> variants;
  std::vector<std::size_t> last;  // by point

  explicit Runs(std::span<const ScenarioVariant> points) {
    for (const auto& point : points) {
      if (const auto& range = point.base->physics.range)
        for (const auto& end : {range->least, range->most}) variants.emplace_back(point).physics = end;
      last.push_back(variants.size());
      variants.push_back(point);
    }
  }
};

}  // namespace

void run_points(std::span<const ScenarioVariant> points, unsigned jobs,
                const std::function<void(std::size_t, const Prediction&, IterationMetrics)>& on_point,
                const OnLost& on_lost, const Simulate& simulate) {
  Runs runs(points);
  std::size_t point = 0;
  std::vector<Seconds> ends;
  std::optional<EnvironmentError> lost;  // one of the point's runs
  auto finish_lost_point = [&](std::size_t run) {
    if (run < runs.last[point]) return;
    ends.clear();
    on_lost(point++, *std::exchange(lost, std::nullopt));
  };
  run_all(
      runs.variants, jobs,
      [&](std::size_t i, const Scenario& scenario, const Prediction& prediction) {
        if (lost) return finish_lost_point(i);
        // Of the ends of a range nothing else is asked.
        if (i < runs.last[point]) return ends.push_back(prediction.timeline.last_to_finish().duration());
        auto metrics = metrics_of(scenario, prediction);
        std::optional<PhysicsEnds> physics;
        if (!ends.empty()) physics = PhysicsEnds{ends[0], ends[1]};
        metrics.range = iteration_range(scenario, metrics, prediction.timeline.last_to_finish(), physics);
        ends.clear();
        on_point(point++, prediction, std::move(metrics));
      },
      [&](std::size_t i, const EnvironmentError& why) {
        if (!lost) lost = why;
        finish_lost_point(i);
      },
      simulate);
}

void run_every_point(std::span<const ScenarioVariant> points, unsigned jobs,
                     const std::function<void(std::size_t, const Prediction&, IterationMetrics)>& on_point,
                     const std::function<void(std::size_t, const PointError&)>& on_failed) {
  std::size_t next = 0;
  // What a point throws ends the run in that point's turn.
  while (next < points.size()) {
    try {
      run_points(
          points.subspan(next), jobs,
          [&](std::size_t, const Prediction& prediction, IterationMetrics metrics) {
            on_point(next, prediction, std::move(metrics));
            ++next;
          },
          [&](std::size_t, const EnvironmentError& why) {
            on_failed(next++, {PointFailure::machine, why.message(), why.hint()});
          });
    } catch (const InputError& why) {
      on_failed(next++, {PointFailure::input, why.what(), {}});
    } catch (const InternalError& why) {
      on_failed(next++, {PointFailure::defect, why.what(), {}});
    }
  }
}

}  // namespace ddpsim
