#include "sim/study/study.hpp"

#include <map>
#include <optional>
#include <variant>

#include "sim/study/point_runs.hpp"

namespace ddpsim {
namespace {

// Of more points each has the intervals of two runs a quantity.
constexpr std::size_t kMostWithCurves = 10'000;

}  // namespace

Study::Study(std::string file, config::Value root, bool all_columns)
    : file_(std::move(file)),
      root_(std::move(root)),
      grid_(config::take_sweep_axes(root_, kMostStudyPoints)),
      keys_(file_),
      head_{keys_.key(root_, grid_.axes()), grid_.size(), {}, all_columns} {
  for (const auto& axis : grid_.axes()) head_.axes.push_back(axis.key);
}

std::string Study::key(std::size_t point, PointJobs& jobs, JobKeys& keys) const {
  try {
    return keys.key(jobs.at(point));
  } catch (const InputError&) {  // it is no job: its text counts
  }
  auto root = root_;
  try {
    grid_.set(root, point);
  } catch (const InputError&) {
    // The axes' values tell such points apart, too.
    root = root_;
    auto values = grid_.values(point);
    for (std::size_t axis = 0; axis < values.size(); ++axis) {
      root.entries.push_back({grid_.axes()[axis].key, {}, config::scalar_value(values[axis])});
    }
  }
  return keys.key(root);
}

std::string Study::key(std::size_t point) {
  PointJobs jobs(root_, grid_);
  return key(point, jobs, keys_);
}

void Study::run(std::span<const std::size_t> points, unsigned jobs, const OnRow& on_row) const {
  JobKeys keys(file_);
  PointJobs point_jobs(root_, grid_);
  std::map<std::size_t, std::string> refused;  // rows by number
  auto about = [&](std::size_t number) -> StudyPoint {
    return {number, key(number, point_jobs, keys), grid_.values(number)};
  };
  Files files(file_);
  auto plan = plan_points(root_, grid_, points, files, [&](std::size_t number, const InputError& why) {
    refused[number] = study_row(about(number), PointFailure::input, why.what());
  });
  // Those with buckets of their own, and what became of them.
  using Outcome = std::variant<IterationMetrics, PointError>;
  std::vector<ScenarioVariant> simulated;
  std::vector<Outcome> outcomes;
  std::vector<std::size_t> outcome_of(plan.points.size());
  for (std::size_t i = 0; i < plan.points.size(); ++i) {
    outcome_of[i] = plan.same_as[i] == i ? simulated.size() : outcome_of[plan.same_as[i]];
    if (plan.same_as[i] != i) continue;
    simulated.push_back(plan.points[i]);
    simulated.back().is_one_of_many = grid_.size() > kMostWithCurves;
  }
  std::size_t next = 0;
  auto show_refused_before = [&](std::size_t number) {
    while (!refused.empty() && refused.begin()->first < number) {
      on_row(refused.begin()->first, refused.begin()->second);
      refused.erase(refused.begin());
    }
  };
  auto show_known = [&] {
    for (; next < plan.points.size() && outcome_of[next] < outcomes.size(); ++next) {
      auto number = plan.numbers[next];
      show_refused_before(number);
      const auto& outcome = outcomes[outcome_of[next]];
      if (const auto* why = std::get_if<PointError>(&outcome)) {
        on_row(number, study_row(about(number), why->who, why->message));
        continue;
      }
      auto metrics = std::get<IterationMetrics>(outcome);
      if (plan.same_as[next] != next) {
        auto own = plan.points[next].scenario().plan;
        metrics.bucket_cap = own.bucket_cap;
        metrics.first_bucket_cap = own.first_bucket_cap;
      }
      on_row(number, study_row(about(number), metrics, head_.all_columns));
    }
  };
  auto conclude = [&](Outcome outcome) {
    outcomes.push_back(std::move(outcome));
    show_known();
  };
  run_every_point(
      simulated, jobs,
      [&](std::size_t, const Prediction&, IterationMetrics metrics) {
        metrics.buckets.clear();
        conclude(std::move(metrics));
      },
      [&](std::size_t, const PointError& why) { conclude(why); });
  show_refused_before(size());
}

}  // namespace ddpsim
