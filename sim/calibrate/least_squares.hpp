#pragma once
// Robust nonlinear least squares; the only user of GSL.
#include <functional>
#include <vector>

namespace ddpsim::calibrate {

// A residual of 1 of a measured time, in logarithms: what such measurements are good to.
inline constexpr double kUnitError = 0.05;

// The parameters that minimise  sum_i huber(r_i(parameters)) + sum_j ((parameters_j - mean_j) / width_j)^2,
// where huber(r) = r^2 up to |r| = `knee` and grows linearly beyond. Levenberg-Marquardt with numeric
// derivatives (GSL, gsl_multifit_nlinear); the same input gives the same output.
struct LeastSquares {
  std::function<std::vector<double>(const std::vector<double>& parameters)> residuals;
  std::vector<double> mean, width;
  double knee = 1.5;
  std::vector<double> start = {};  // empty: the means
};
std::vector<double> minimize(const LeastSquares& problem);

// How far each parameter can go from there before the sum has grown by 1, the others following: the roots of
// the diagonal of the inverse of J'J (gsl_multifit_nlinear_covar). Times the residuals' deviation it is a
// standard error.
std::vector<double> unit_errors(const LeastSquares& problem, const std::vector<double>& parameters);

// The sum that is minimised.
double cost(const LeastSquares& problem, const std::vector<double>& parameters);

}  // namespace ddpsim::calibrate
