#include "sim/engine/simgrid/simgrid_simulator.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/base/check.hpp"
#include "sim/engine/iteration.hpp"
#include "sim/engine/simgrid/executors.hpp"
#include "sim/engine/simgrid/network.hpp"

namespace ddpsim {
namespace {

std::unique_ptr<simgrid::Executor> make_executor(simgrid::Network& network, Fidelity fidelity,
                                                 const CollectiveSchedule& schedule) {
  switch (fidelity) {
    case Fidelity::exact:
      return simgrid::make_exact_executor(network, schedule);
    case Fidelity::folded:
      return simgrid::make_folded_executor(network, schedule);
    case Fidelity::fluid:
      return simgrid::make_fluid_executor(network, schedule);
    case Fidelity::closed_form:
      break;
  }
  throw InternalError("the closed form is not simulated");
}

// The communication lane of one process group: collectives run one after the other, in launch order.
class CommunicationLane {
 public:
  CommunicationLane(simgrid::Network& network, simgrid::Executor& executor,
                    const std::vector<CollectiveRequest>& requests)
      : network_(network), executor_(executor), requests_(requests) {}

  // Schedules every launch; run the network afterwards.
  void prepare() {
    for (std::size_t i = 0; i < requests_.size(); ++i)
      network_.after(requests_[i].launch, [this] {
        ++launched_;
        start_next();
      });
  }

  [[nodiscard]] const std::vector<Interval>& in_flight() const { return in_flight_; }
  [[nodiscard]] std::size_t finished() const { return finished_; }

 private:
  void start_next() {
    if (busy_ || finished_ == launched_) return;
    busy_ = true;
    in_flight_.push_back({network_.now(), {}});
    executor_.start(requests_[finished_].bytes, [this] {
      in_flight_.back().end = network_.now();
      busy_ = false;
      ++finished_;
      start_next();
    });
  }

  simgrid::Network& network_;
  simgrid::Executor& executor_;
  const std::vector<CollectiveRequest>& requests_;
  std::vector<Interval> in_flight_;
  std::size_t launched_ = 0, finished_ = 0;
  bool busy_ = false;
};

}  // namespace

Timeline SimGridSimulator::run(const Scenario& scenario) {
  DDPSIM_CHECK(scenario.topology, "a measured cost is not simulated");
  auto requests = collective_requests(scenario);
  auto schedule = collective_schedule(scenario);
  Bytes largest;
  for (const auto& request : requests) largest = std::max(largest, request.bytes);
  simgrid::Network network(2 * largest);  // fluid sends 2 (N-1)/N of a message in one flow
  auto executor = make_executor(network, scenario.fidelity, schedule);
  CommunicationLane lane(network, *executor, requests);
  lane.prepare();
  network.run();
  // Without actors SimGrid reports no deadlock: a collective that never ends must not look like a short
  // iteration.
  DDPSIM_CHECK(lane.finished() == requests.size(),
               fmt::format("collective {} of {} never ended", lane.finished() + 1, requests.size()));
  return assemble_timeline(scenario, requests, lane.in_flight());
}

std::string simgrid_version() {
  return simgrid::Network::version();
}

}  // namespace ddpsim
