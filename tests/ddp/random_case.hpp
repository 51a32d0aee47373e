#pragma once
// Random traces and options that a plan can be made of. The same seed gives the same case.
#include <algorithm>
#include <random>
#include <string>

#include "sim/ddp/reduction_plan.hpp"

namespace ddpsim::test {

class RandomCase {
 public:
  explicit RandomCase(unsigned seed) : random_(seed) {}

  std::int64_t number(std::int64_t lowest, std::int64_t highest) {
    return std::uniform_int_distribution<std::int64_t>(lowest, highest)(random_);
  }
  bool chance(int percent) { return number(1, 100) <= percent; }

  // Few sizes, so that equal ones are common; some gradients arrive at the same time; registration is any
  // order.
  LayerTrace trace(std::int64_t max_gradients, std::int64_t max_elements) {
    constexpr DType kDTypes[] = {DType::float32, DType::float16, DType::bfloat16, DType::float64};
    const auto n = number(1, max_gradients);
    const auto dtypes = number(1, 4);
    const auto largest = number(1, max_elements);
    LayerTrace trace;
    Seconds now;
    for (std::int64_t i = 0; i < n; ++i) {
      if (chance(80)) now += Seconds(static_cast<double>(number(1, 9)));
      trace.gradients.push_back({.name = "p" + std::to_string(i),
                                 .elements = chance(30) ? largest : number(1, largest),
                                 .dtype = kDTypes[number(0, dtypes - 1)],
                                 .ready = now,
                                 .ready_spread = {}});
      trace.registration_order.push_back(static_cast<std::size_t>(n - 1 - i));
    }
    if (chance(50)) std::shuffle(trace.registration_order.begin(), trace.registration_order.end(), random_);
    return trace;
  }

  // Everything but the caps.
  DdpOptions options(const LayerTrace& trace) {
    constexpr TorchVersion kVersions[] = {{1, 13}, {2, 3}, {2, 4}, {2, 14}};
    DdpOptions options;
    options.torch = kVersions[number(0, 3)];
    options.find_unused_parameters = chance(30);
    options.static_graph = chance(20);
    options.set_last_bucket_cap = chance(30);
    options.iteration = static_cast<DdpIteration>(chance(25) ? number(0, 1) : 2);
    if ((options.find_unused_parameters || options.static_graph) && chance(50))
      for (std::size_t i = 1; i < trace.gradients.size(); ++i)
        if (chance(20)) options.unused_parameters.push_back(trace.gradients[i].name);
    return options;
  }

  Bytes cap(Bytes highest) {
    return Bytes(static_cast<double>(number(1, static_cast<std::int64_t>(highest.value()))));
  }

  std::mt19937& random() { return random_; }

 private:
  std::mt19937 random_;
};

}  // namespace ddpsim::test
