#include "sim/engine/closed_form/closed_form.hpp"

#include <algorithm>

#include "sim/engine/iteration.hpp"

namespace ddpsim {

Timeline ClosedFormSimulator::run(const Scenario& scenario) {
  auto requests = collective_requests(scenario);
  std::optional<ScheduleCost> schedule_cost;
  if (scenario.topology) schedule_cost.emplace(collective_schedule(scenario));
  std::vector<Interval> in_flight;
  Seconds free = requests.front().launch;
  for (const auto& request : requests) {
    Seconds start = std::max(request.launch, free);
    free =
        start + (schedule_cost ? (*schedule_cost)(request.bytes) : (*scenario.measured_cost)(request.bytes));
    in_flight.push_back({start, free});
  }
  return assemble_timeline(scenario, requests, in_flight);
}

}  // namespace ddpsim
