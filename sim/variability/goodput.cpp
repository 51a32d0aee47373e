#include "sim/variability/goodput.hpp"

#include <cmath>

#include <boost/math/special_functions/lambert_w.hpp>

namespace ddpsim {

namespace {

// Of `checkpoint`, over the mean time between failures, as the result is: where the derivative of the share
// is zero, (1 - x) e^(x + checkpoint) = 1. Of short checkpoints by its series, 1 and -1 having no digits left
// to differ in.
double best_interval(double checkpoint) {
  double young = std::sqrt(2 * checkpoint);
  if (young < 1e-3) return young - young * young / 3 + young * young * young / 36;
  return 1 + boost::math::lambert_w0(-std::exp(-1 - checkpoint));
}

}  // namespace

Goodput goodput_of(const Failures& failures, int gpus) {
  Goodput result{.mtbf = failures.mtbf / gpus};
  double checkpoint = failures.checkpoint / result.mtbf, restart = failures.restart / result.mtbf;
  double interval = failures.interval ? *failures.interval / result.mtbf : best_interval(checkpoint);
  result.interval = interval * result.mtbf;
  result.share = interval / (std::exp(restart) * std::expm1(interval + checkpoint));
  return result;
}

}  // namespace ddpsim
