#include "sim/study/point_runs.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "sim/base/check.hpp"
#include "sim/study/run_all.hpp"
#include "sim/study/uncertainty.hpp"

namespace ddpsim {
namespace {

// What a point has to simulate: itself, and before it what its curves are drawn through.
struct Runs {
  std::vector<ScenarioVariant> variants;
  std::vector<CurveRuns> curves;  // by point
  std::vector<std::size_t> last;

  explicit Runs(std::span<const ScenarioVariant> points) {
    for (const auto& point : points) {
      for (const auto& knobs : curves.emplace_back(*point.base, point.draws, point.is_one_of_many).knobs())
        variants.emplace_back(point).knobs = knobs;
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
  std::vector<Seconds> turned;
  std::optional<EnvironmentError> lost;  // one of the point's runs
  auto finish_lost_point = [&](std::size_t run) {
    if (run < runs.last[point]) return;
    turned.clear();
    on_lost(point++, *std::exchange(lost, std::nullopt));
  };
  run_all(
      runs.variants, jobs,
      [&](std::size_t i, const Scenario& scenario, const Prediction& prediction) {
        if (lost) return finish_lost_point(i);
        // Nothing else is asked of them.
        if (i < runs.last[point]) return turned.push_back(prediction.timeline.last_to_finish().duration());
        auto metrics = metrics_of(scenario, prediction);
        auto unvaried = scenario.sampled ? prediction.unvaried : metrics.iteration;
        metrics.uncertainty = runs.curves[point].uncertainty(metrics.iteration, unvaried, turned);
        turned.clear();
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
