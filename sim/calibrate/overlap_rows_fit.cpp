#include "sim/calibrate/overlap_rows_fit.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/core.h>

#include "sim/base/source.hpp"
#include "sim/calibrate/least_squares.hpp"

namespace ddpsim::calibrate {
namespace {

constexpr double kUnit = 0.01;  // a residual of 1 is an error of 1 %
constexpr double kMs = 1e-3, kPercent = 0.01;
constexpr double kLargestMiss = 0.15;
constexpr double kFreely = 1e6;     // no prior worth the name
constexpr double kUncertain = 0.5;  // standard error over value: two of them are chance

enum class Parameter { interference, launch, spread, collective };

// In units in which each is of the order of 1.
struct Problem {
  const std::vector<MeasuredOverlap>& rows;
  const PredictOverlaps& predict;
  std::vector<Parameter> parameters;

  [[nodiscard]] bool has(Parameter parameter) const {
    return std::find(parameters.begin(), parameters.end(), parameter) != parameters.end();
  }

  [[nodiscard]] OverlapParameters physical(const std::vector<double>& values) const {
    OverlapParameters physical;
    for (std::size_t i = 0; i < values.size(); ++i) {
      double value = std::max(0.0, values[i]);
      if (parameters[i] == Parameter::interference) physical.compute = value;
      if (parameters[i] == Parameter::launch) physical.launch = Seconds(value * kMs);
      if (parameters[i] == Parameter::spread) physical.spread = value * kPercent;
      if (parameters[i] == Parameter::collective) physical.collective = value;
    }
    if (!has(Parameter::collective)) physical.collective = physical.compute;
    return physical;
  }

  [[nodiscard]] std::vector<double> residuals(const std::vector<double>& values) const {
    std::vector<double> residuals;
    auto predicted = predict(physical(values));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto& [iteration, tail] = rows[i].measured;
      residuals.push_back((predicted[i].iteration / iteration - 1) / kUnit);
      if (tail && has(Parameter::collective))
        residuals.push_back((*predicted[i].tail - *tail) / iteration / kUnit);
    }
    for (double value : values) residuals.push_back(std::max(0.0, -value) / kUnit);  // none is negative
    return residuals;
  }
};

struct Solution {
  std::vector<double> values, standard_errors;
  double cost = 0;  // the sum of squares
  int freedom = 0;  // measured figures less parameters
};

double sum_of_squares(const std::vector<double>& residuals) {
  double sum = 0;
  for (double residual : residuals) sum += residual * residual;
  return sum;
}

Solution solve(const Problem& problem, std::vector<double> start) {
  LeastSquares squares{[&](const std::vector<double>& values) { return problem.residuals(values); }, start,
                       std::vector<double>(start.size(), kFreely)};
  squares.knee = kFreely;
  Solution solution;
  solution.values = minimize(squares);
  for (auto& value : solution.values) value = std::max(0.0, value);
  auto residuals = problem.residuals(solution.values);
  solution.cost = sum_of_squares(residuals);
  solution.freedom = static_cast<int>(residuals.size()) -
                     2 * static_cast<int>(solution.values.size());  // a bound each is no figure
  double deviation = solution.freedom > 0 ? std::sqrt(solution.cost / solution.freedom) : 0;
  for (double one : unit_errors(squares, solution.values))
    solution.standard_errors.push_back(deviation * one);
  return solution;
}

template <class Figure>
bool differ(const std::vector<MeasuredOverlap>& rows, Figure figure) {
  std::set<int> figures;
  for (const auto& row : rows) figures.insert(figure(row));
  return figures.size() > 1;
}

struct Candidate {
  Parameter parameter;
  const char* name;
  double start;
  const char* missing;  // empty: the rows differ in what it depends on
};

std::vector<Candidate> candidates_of(const std::vector<MeasuredOverlap>& rows) {
  auto tails =
      std::count_if(rows.begin(), rows.end(), [](const auto& row) { return row.measured.tail.has_value(); });
  return {
      {Parameter::launch, "launch", 0.05,
       differ(rows, [](const auto& row) { return row.buckets; }) ? "" : "all rows have as many collectives"},
      {Parameter::spread, "spread", 1,
       differ(rows, [](const auto& row) { return row.ranks; }) ? "" : "all rows have as many GPUs"},
      {Parameter::collective, "collective", 0.25, tails >= 2 ? "" : "fewer than two rows have a tail"}};
}

// Which parameter but the first is least certain, of those whose standard error is more than half of them.
std::optional<std::size_t> most_uncertain(const Solution& solution) {
  std::optional<std::size_t> found;
  double worst = kUncertain;
  for (std::size_t i = 1; i < solution.values.size(); ++i) {
    double ratio = solution.standard_errors[i] / std::max(solution.values[i], 1e-9);
    if (ratio <= worst) continue;
    worst = ratio;
    found = i;
  }
  return found;
}

void check_misses(const std::vector<MeasuredOverlap>& rows,
                  const std::vector<OverlappedIteration>& predicted) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    double miss = predicted[i].iteration / rows[i].measured.iteration - 1;
    if (std::abs(miss) > kLargestMiss)
      throw InputError(
          fmt::format("the best that fits all rows is {:+.0f} % off its own row {}", 100 * miss, i + 1),
          "is it the scenario that was measured? Rows of another machine or day belong into a fit of their "
          "own");
  }
}

}  // namespace

OverlapRowsFit fit_overlap_rows(const std::vector<MeasuredOverlap>& rows, const PredictOverlaps& predict) {
  if (rows.size() < 2)
    throw InputError(
        fmt::format("{} of the measured rows is predicted here", rows.size()),
        "sweep what they differ in (sweep.ddp.bucket_cap), or fit to one row without --all-rows");
  Problem problem{rows, predict, {Parameter::interference}};
  auto slopes = problem.residuals({1.0});
  auto none = problem.residuals({0.0});
  bool overlaps = false;
  for (std::size_t i = 0; i < rows.size(); ++i) overlaps = overlaps || slopes[i] > none[i] + 1e-3;
  if (!overlaps)
    throw InputError(
        "however strong the interference, the same iterations are predicted: nothing overlaps in them",
        "fit to iterations in which all-reduces run beside compute");
  Solution best;
  OverlapRowsFit fit;
  std::vector<Candidate> used;
  for (const auto& candidate : candidates_of(rows)) {
    fit.others.push_back({candidate.name, std::nullopt, candidate.missing});
    if (fit.others.back().because.empty()) used.push_back(candidate);
  }
  auto finding_of = [&](const Candidate& candidate) -> OverlapFinding& {
    return *std::find_if(fit.others.begin(), fit.others.end(),
                         [&](const OverlapFinding& finding) { return finding.name == candidate.name; });
  };
  // From all of them down to those that the rows need: one left out too early would be taken for another.
  for (;;) {
    problem.parameters = {Parameter::interference};
    std::vector<double> start{0.25};
    for (const auto& candidate : used) {
      problem.parameters.push_back(candidate.parameter);
      start.push_back(candidate.start);
    }
    best = solve(problem, start);
    if (best.freedom < 1 && !used.empty()) {
      finding_of(used.back()).because = fmt::format("{} rows are too few", rows.size());
      used.pop_back();
      continue;
    }
    auto vaguest = most_uncertain(best);
    if (!vaguest) break;
    auto left_out = used.begin() + static_cast<std::ptrdiff_t>(*vaguest) - 1;
    finding_of(*left_out).because = "the rows fit about as well without";
    used.erase(left_out);
  }
  for (std::size_t i = 0; i < used.size(); ++i)
    finding_of(used[i]).standard_error = best.standard_errors[i + 1];
  fit.parameters = problem.physical(best.values);
  fit.standard_error = best.standard_errors.front();
  for (auto& finding : fit.others) {
    if (!finding.standard_error) continue;
    if (finding.name == "launch") *finding.standard_error *= kMs;
    if (finding.name == "spread") *finding.standard_error *= kPercent;
  }
  fit.predicted = predict(fit.parameters);
  check_misses(rows, fit.predicted);
  return fit;
}

}  // namespace ddpsim::calibrate
