#pragma once
// Robust nonlinear least squares; the only user of GSL.
#include <functional>
#include <vector>

namespace ddpsim::calibrate {

// The parameters that minimise  sum_i huber(r_i(parameters)) + sum_j ((parameters_j - mean_j) / width_j)^2,
// where huber(r) = r^2 up to |r| = `knee` and grows linearly beyond. Starts at the means; Levenberg-Marquardt
// with numeric derivatives (GSL, gsl_multifit_nlinear); the same input gives the same output.
struct LeastSquares {
  std::function<std::vector<double>(const std::vector<double>& parameters)> residuals;
  std::vector<double> mean, width;
  double knee = 1.5;
};
std::vector<double> minimize(const LeastSquares& problem);

}  // namespace ddpsim::calibrate
