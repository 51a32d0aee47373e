#include "sim/calibrate/overlap_rows_fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <boost/math/distributions/students_t.hpp>
#include <fmt/core.h>

#include "sim/base/source.hpp"
#include "sim/calibrate/least_squares.hpp"

namespace ddpsim::calibrate {
namespace {

constexpr double kUnit = 0.01;  // a residual of 1 is an error of 1 %
constexpr double kMs = 1e-3, kPercent = 0.01;
constexpr double kNothing = 1e-6;
constexpr double kVague = 0.1;      // of interference: published runs span 0.1 to 0.65
constexpr double kFreely = 1e6;     // no prior worth the name
constexpr double kCertain = 0.975;  // that it is not zero, on either side

enum class Parameter { interference, launch, spread, collective };

// In units in which each is of the order of 1.
struct Problem {
  const std::vector<MeasuredOverlap>& rows;
  const PredictOverlaps& predict;
  std::vector<Parameter> parameters;
  bool knows_spread = false;  // the rows tell it: none, where it is left out

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
    if (knows_spread && !has(Parameter::spread)) physical.spread = 0;
    return physical;
  }

  [[nodiscard]] std::vector<double> residuals(const std::vector<double>& values) const {
    std::vector<double> residuals;
    auto predicted = predict(physical(values));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto& [iteration, tail, communication] = rows[i].measured;
      residuals.push_back((predicted[i].iteration / iteration - 1) / kUnit);
      if (tail && has(Parameter::collective))
        residuals.push_back((*predicted[i].tail - *tail) / iteration / kUnit);
      if (communication && has(Parameter::collective))
        residuals.push_back((*predicted[i].communication - *communication) / iteration / kUnit);
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
  for (double unit : unit_errors(squares, solution.values))
    solution.standard_errors.push_back(deviation * unit);
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

std::vector<Candidate> candidates_of(const std::vector<MeasuredOverlap>& rows, const KnownOverlap& known) {
  auto told = std::count_if(rows.begin(), rows.end(),
                            [](const auto& row) { return row.measured.tail || row.measured.communication; });
  bool differ_in_buckets = differ(rows, [](const auto& row) { return row.buckets; });
  bool differ_in_ranks = differ(rows, [](const auto& row) { return row.ranks; });
  const char* said = "as the scenario says";
  return {{Parameter::launch, "launch", 0.05,
           known.launch        ? said
           : differ_in_buckets ? ""
                               : "all rows have as many collectives"},
          {Parameter::spread, "spread", 1,
           known.spread      ? said
           : differ_in_ranks ? ""
                             : "all rows have as many GPUs"},
          {Parameter::collective, "collective", 0.25,
           told >= 2 ? "" : "fewer than two rows have a tail or a time in flight"}};
}

// Which parameter but the first is least certain, of those that may as well be zero.
std::optional<std::size_t> most_uncertain(const Solution& solution) {
  boost::math::students_t distribution(solution.freedom);
  double worst = 1 / quantile(distribution, kCertain);
  std::optional<std::size_t> found;
  for (std::size_t i = 1; i < solution.values.size(); ++i) {
    // At its bound nothing is certain: there the bound holds it.
    bool is_none = solution.values[i] < kNothing;
    double ratio =
        is_none ? std::numeric_limits<double>::infinity() : solution.standard_errors[i] / solution.values[i];
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

void check_overlap(const Problem& problem) {
  auto without = problem.residuals({0.0}), with = problem.residuals({1.0});
  for (std::size_t i = 0; i < problem.rows.size(); ++i)
    if (with[i] > without[i] + 1e-3) return;
  throw InputError(
      "however strong the interference, the same iterations are predicted: nothing overlaps in them",
      "fit to iterations in which all-reduces run beside compute");
}

// A solution that any numbers have is no fit: one row more than there are unknowns.
void check_rows(std::size_t rows, const std::vector<Candidate>& used) {
  std::size_t least = 2 + used.size();
  if (rows >= least) return;
  std::string unknowns = "interference";
  for (const auto& candidate : used) unknowns += fmt::format(", {}", candidate.name);
  throw InputError(
      fmt::format("{} row{} cannot tell {} apart: {} are needed", rows, rows == 1 ? "" : "s", unknowns,
                  least),
      "measure more, say physics.launch or spread in the scenario, or fit to one row without --all-rows");
}

Solution solve(Problem& problem, const std::vector<Candidate>& used) {
  problem.parameters = {Parameter::interference};
  std::vector<double> start{0.25};
  for (const auto& candidate : used) {
    problem.parameters.push_back(candidate.parameter);
    start.push_back(candidate.start);
  }
  return solve(problem, std::move(start));
}

// Of a solution's unit.
double physical_unit(Parameter parameter) {
  return parameter == Parameter::launch ? kMs : parameter == Parameter::spread ? kPercent : 1;
}

}  // namespace

OverlapRowsFit fit_overlap_rows(const std::vector<MeasuredOverlap>& rows, const PredictOverlaps& predict,
                                const KnownOverlap& known) {
  std::vector<Candidate> used;
  OverlapRowsFit fit;
  for (const auto& candidate : candidates_of(rows, known)) {
    fit.others.push_back({candidate.name, std::nullopt, candidate.missing});
    if (fit.others.back().because.empty()) used.push_back(candidate);
  }
  check_rows(rows.size(), used);
  bool tells_spread = !known.spread && differ(rows, [](const auto& row) { return row.ranks; });
  Problem problem{rows, predict, {Parameter::interference}, tells_spread};
  check_overlap(problem);
  auto finding_of = [&](const Candidate& candidate) -> OverlapFinding& {
    return *std::find_if(fit.others.begin(), fit.others.end(),
                         [&](const OverlapFinding& finding) { return finding.name == candidate.name; });
  };
  // From all of them down to those that the rows need: one left out too early would be taken for another.
  auto best = solve(problem, used);
  while (auto vaguest = most_uncertain(best)) {
    auto left_out = used.begin() + static_cast<std::ptrdiff_t>(*vaguest) - 1;
    finding_of(*left_out).because = "the rows fit about as well without";
    used.erase(left_out);
    best = solve(problem, used);
  }
  for (std::size_t i = 0; i < used.size(); ++i)
    finding_of(used[i]).standard_error = best.standard_errors[i + 1] * physical_unit(used[i].parameter);
  fit.parameters = problem.physical(best.values);
  fit.standard_error = best.standard_errors.front();
  fit.predicted = predict(fit.parameters);
  check_misses(rows, fit.predicted);
  if (fit.standard_error > kVague)
    throw InputError(fmt::format("the rows do not tell interference: {:.2g} with a standard error of {:.2g}",
                                 fit.parameters.compute, fit.standard_error),
                     "measure iterations in which more overlaps, or more of them");
  return fit;
}

}  // namespace ddpsim::calibrate
