#include "sim/calibrate/interference_fit.hpp"

#include <algorithm>
#include <cmath>

#include <boost/math/tools/roots.hpp>
#include <fmt/core.h>

#include "sim/base/quantity.hpp"
#include "sim/base/source.hpp"

namespace ddpsim::calibrate {
namespace {

constexpr double kLargest = 20;
constexpr double kNoticeable = 1e-3;  // of the measured iteration: shorter than predicted by less is none

// Where `difference`, which does not fall, crosses zero in [0, largest]; one of the ends where it does not
// cross.
double crossing(const std::function<double(double)>& difference, double largest) {
  if (difference(0) >= 0) return 0;
  if (difference(largest) <= 0) return largest;
  auto close = [](double low, double high) { return high - low <= 1e-9 * (1 + high); };
  auto [low, high] = boost::math::tools::bisect(difference, 0.0, largest, close);
  return (low + high) / 2;
}

}  // namespace

InterferenceFit fit_interference(const OverlappedIteration& measured, const PredictOverlap& predict) {
  auto longer = [&](double s, double r) { return (predict(s, r).iteration - measured.iteration).value(); };
  Seconds without = predict(0, 0).iteration;
  if (without > measured.iteration * (1 + kNoticeable))
    throw InputError(fmt::format("the iteration took {}, and without any interference {} is predicted",
                                 format_seconds(measured.iteration), format_seconds(without)),
                     "are compute and all-reduces of the same run set, and measured without one another?");
  if (predict(kLargest, kLargest).iteration <= without * (1 + kNoticeable / 1000))
    throw InputError(
        "however strong the interference, the same iteration is predicted: nothing overlaps in it",
        "fit to an iteration in which all-reduces run beside compute");
  if (longer(kLargest, kLargest) < 0)
    throw InputError(
        fmt::format("the iteration took {}, and however strong the interference only {} is predicted",
                    format_seconds(measured.iteration),
                    format_seconds(predict(kLargest, kLargest).iteration)),
        "is it the scenario that was measured, and does anything overlap in it?");
  InterferenceFit fit;
  fit.compute = fit.collective = crossing([&](double s) { return longer(s, s); }, kLargest);
  // What r shows in: the time in flight where it was measured, else the tail.
  auto shown = measured.communication ? &OverlappedIteration::communication : &OverlappedIteration::tail;
  if (auto aim = measured.*shown) {
    // For each r the s that gives the iteration. The larger r, the less s is left, and the longer both.
    auto compute_with = [&](double r) { return crossing([&](double s) { return longer(s, r); }, kLargest); };
    double largest = crossing([&](double r) { return longer(0, r); }, kLargest);
    auto shown_with = [&](double r) { return *(predict(compute_with(r), r).*shown); };
    double collective = crossing([&](double r) { return (shown_with(r) - *aim).value(); }, largest);
    Seconds closest = shown_with(collective);
    if (std::abs((closest - *aim).value()) <= kNoticeable * measured.iteration.value()) {
      fit.collective = collective;
      fit.compute = compute_with(collective);
      fit.separate = true;
    } else {
      fit.closest = closest;
    }
  }
  fit.predicted = predict(fit.compute, fit.collective);
  return fit;
}

}  // namespace ddpsim::calibrate
