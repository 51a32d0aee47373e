#pragma once
// Random scenarios in which compute and communication slow one another down.
#include <random>

#include "tests/engine/scenarios.hpp"

namespace ddpsim::testing {

struct RandomCoupledCase {
  Scenario scenario;
  explicit RandomCoupledCase(unsigned seed) {
    std::mt19937 random(seed);
    auto uniform = [&](double low, double high) { return std::uniform_real_distribution(low, high)(random); };
    std::vector<double> sizes, ready;
    double time = 0;
    for (int i = std::uniform_int_distribution(1, 40)(random); i > 0; --i) {
      sizes.push_back(std::pow(10.0, uniform(-5.3, 2)));
      ready.push_back(time += uniform(0, 3));
    }
    auto trace = make_trace(sizes, ready);
    trace.forward = Seconds(4e-3);
    trace.optimizer = Seconds(1e-3);
    DdpOptions options;
    auto strategy = static_cast<Reducer>(std::uniform_int_distribution(0, 3)(random));
    if (strategy == Reducer::ddp) options = cap(Bytes(std::round(uniform(1, 1e8))));
    options.accumulation_steps = std::uniform_int_distribution(1, 3)(random);
    std::vector<RingLink> links(std::uniform_int_distribution<std::size_t>(2, 50)(random),
                                {uniform(0, 20), uniform(1, 100)});
    scenario = make_scenario(trace, links, strategy, options);
    int n = static_cast<int>(links.size());
    if (uniform(0, 1) < 0.5) scenario.groups[0].rank_classes = {{0, n - 1, 1.0}, {1, 1, uniform(1, 2)}};
    scenario.physics.interference = {uniform(0, 2), uniform(0, 2)};
    if (uniform(0, 1) < 0.5) {
      auto& overheads = scenario.physics.overheads;
      overheads.pass_bandwidth = BytesPerSecond(1e12 * uniform(0.1, 2));
      overheads.passes = {uniform(0, 2), uniform(0, 2)};
      overheads.passes_of_one = {uniform(0, 2), uniform(0, 2)};
      scenario.physics.overheads.launch = Seconds(uniform(0, 1e-4));
    }
    scenario.fidelity = Fidelity::closed_form;
  }
};

}  // namespace ddpsim::testing
