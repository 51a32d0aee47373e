#include "sim/variability/variability.hpp"

#include <algorithm>
#include <cmath>

namespace ddpsim {

bool Variability::needs_nodes() const {
  return nodes || std::any_of(slow.begin(), slow.end(),
                              [](const SlowOnes& ones) { return ones.of == SlowOnes::Of::nodes; });
}

// With median 1 the variance is x (x - 1) for x = exp(sigma^2).
double log_normal_sigma(double spread) {
  return std::sqrt(std::log((1 + std::sqrt(1 + 4 * spread * spread)) / 2));
}

}  // namespace ddpsim
