// A step simulated by the core alone: eight ranks in a ring, two gradients of 1 MB, built without any file.
// Prints the iteration in milliseconds.
#include <fmt/core.h>

#include "sim/engine/simulator.hpp"
#include "sim/topology/topology_kinds.hpp"

using namespace ddpsim;

int main() {
  LayerTrace trace;
  for (double ready : {0.010, 0.030}) {
    Gradient gradient;
    gradient.name = fmt::format("g{}", trace.gradients.size());
    gradient.elements = 250'000;
    gradient.ready = Seconds(ready);
    trace.gradients.push_back(gradient);
  }
  trace.registration_order = reverse_of_arrival(2);
  Scenario scenario;
  scenario.world_size = 8;
  scenario.groups = {{8, {{0, 8, 1.0}}, Seconds(0)}};
  scenario.plan = make_reduction_plan(trace, Reducer::overlap, {});
  scenario.trace = std::make_shared<const LayerTrace>(trace);
  auto communication = std::make_shared<Communication>();
  communication->cluster = make_ring_topology({BytesPerSecond(1e9), Seconds(0)}, {})->build(8);
  communication->options = {Algorithm::ring, 1, false};
  communication->groups = {{0, 1, 2, 3, 4, 5, 6, 7}};
  communication->labels = {0};
  fold_traffic(*communication);
  scenario.communication = communication;
  scenario.fidelity = Fidelity::closed_form;
  auto once = Simulator()(scenario).timeline.last_to_finish().duration();
  scenario.fidelity = Fidelity::exact;
  scenario.network = SharedNetwork::builtin;
  auto flow_by_flow = Simulator()(scenario).timeline.last_to_finish().duration();
  fmt::print("{:.6f} {:.6f}\n", once.value() * 1e3, flow_by_flow.value() * 1e3);
}
