#pragma once
// Predictions that are one of some times, each as likely.
#include <cmath>
#include <initializer_list>
#include <memory>

#include "sim/result/uncertainty.hpp"

namespace ddpsim::testing {

inline std::shared_ptr<const Uncertainty> one_of(std::initializer_list<double> seconds) {
  Unknown which{"which", {}};
  for (double time : seconds)
    which.states.push_back({1.0 / static_cast<double>(seconds.size()), std::log(time), 0});
  return std::make_shared<const Uncertainty>(Response{Seconds(1)}, Unknowns{{"which", which}},
                                             std::vector<Uncertainty::Part>());
}

}  // namespace ddpsim::testing
