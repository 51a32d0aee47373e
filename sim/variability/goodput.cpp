#include "sim/variability/goodput.hpp"

#include <cmath>

#include <boost/math/special_functions/lambert_w.hpp>

namespace ddpsim {

Goodput goodput_of(const Failures& failures, int gpus) {
  Goodput result{.mtbf = failures.mtbf / gpus};
  double checkpoint = failures.checkpoint / result.mtbf, restart = failures.restart / result.mtbf;
  // Where the derivative of the share is zero: (1 - x) e^(x + checkpoint) = 1.
  double interval = failures.interval ? *failures.interval / result.mtbf
                                      : 1 + boost::math::lambert_w0(-std::exp(-1 - checkpoint));
  result.interval = interval * result.mtbf;
  result.share = interval / (std::exp(restart) * std::expm1(interval + checkpoint));
  return result;
}

}  // namespace ddpsim
