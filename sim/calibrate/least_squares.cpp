#include "sim/calibrate/least_squares.hpp"

#include <cmath>
#include <memory>

#include <gsl/gsl_errno.h>
#include <gsl/gsl_multifit_nlinear.h>

#include "sim/base/check.hpp"

namespace ddpsim::calibrate {
namespace {

// Its square is the Huber loss.
double huber_root(double residual, double knee) {
  double size = std::abs(residual);
  return size <= knee ? residual : std::copysign(std::sqrt(2 * knee * size - knee * knee), residual);
}

std::vector<double> as_vector(const gsl_vector* v) {
  std::vector<double> values(v->size);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = gsl_vector_get(v, i);
  return values;
}

int terms(const gsl_vector* at, void* data, gsl_vector* out) {
  const auto& problem = *static_cast<const LeastSquares*>(data);
  auto parameters = as_vector(at);
  auto residuals = problem.residuals(parameters);
  std::size_t place = 0;
  for (double residual : residuals) gsl_vector_set(out, place++, huber_root(residual, problem.knee));
  for (std::size_t j = 0; j < parameters.size(); ++j)
    gsl_vector_set(out, place++, (parameters[j] - problem.mean[j]) / problem.width[j]);
  return GSL_SUCCESS;
}

using Workspace = std::unique_ptr<gsl_multifit_nlinear_workspace, decltype(&gsl_multifit_nlinear_free)>;

// At the start.
struct Equations {
  gsl_multifit_nlinear_fdf system{};  // before the workspace, which points to it
  Workspace workspace;

  Equations(const LeastSquares& problem, const std::vector<double>& start)
      : workspace(nullptr, gsl_multifit_nlinear_free) {
    gsl_set_error_handler_off();
    std::size_t unknowns = problem.mean.size();
    system.f = terms;
    system.n = problem.residuals(problem.mean).size() + unknowns;
    system.p = unknowns;
    system.params = const_cast<LeastSquares*>(&problem);  // GSL's callbacks take void*
    auto settings = gsl_multifit_nlinear_default_parameters();
    workspace.reset(gsl_multifit_nlinear_alloc(gsl_multifit_nlinear_trust, &settings, system.n, system.p));
    auto at = gsl_vector_const_view_array(start.data(), unknowns);
    gsl_multifit_nlinear_init(&at.vector, &system, workspace.get());
  }
};

}  // namespace

std::vector<double> minimize(const LeastSquares& problem) {
  Equations equations(problem, problem.start.empty() ? problem.mean : problem.start);
  auto* workspace = equations.workspace.get();
  constexpr std::size_t kMostSteps = 200;
  constexpr double kTolerance = 1e-10;
  int why = 0;
  // Where no step improves any more it stops too; what it then has is the answer.
  gsl_multifit_nlinear_driver(kMostSteps, kTolerance, kTolerance, 0, nullptr, nullptr, &why, workspace);
  auto found = as_vector(gsl_multifit_nlinear_position(workspace));
  for (double value : found) DDPSIM_CHECK(std::isfinite(value), "a fit stays finite");
  return found;
}

std::vector<double> unit_errors(const LeastSquares& problem, const std::vector<double>& parameters) {
  Equations equations(problem, parameters);
  std::size_t unknowns = parameters.size();
  std::unique_ptr<gsl_matrix, decltype(&gsl_matrix_free)> covariance(gsl_matrix_alloc(unknowns, unknowns),
                                                                     gsl_matrix_free);
  gsl_multifit_nlinear_covar(gsl_multifit_nlinear_jac(equations.workspace.get()), 0, covariance.get());
  std::vector<double> errors;
  for (std::size_t i = 0; i < unknowns; ++i)
    errors.push_back(std::sqrt(gsl_matrix_get(covariance.get(), i, i)));
  return errors;
}

double cost(const LeastSquares& problem, const std::vector<double>& parameters) {
  double sum = 0;
  for (double residual : problem.residuals(parameters))
    sum += std::pow(huber_root(residual, problem.knee), 2);
  for (std::size_t j = 0; j < parameters.size(); ++j)
    sum += std::pow((parameters[j] - problem.mean[j]) / problem.width[j], 2);
  return sum;
}

}  // namespace ddpsim::calibrate
