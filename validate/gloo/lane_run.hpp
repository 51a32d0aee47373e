#pragma once
// Carries a program out on two lanes: compute waits on the host's clock, communication is a CollectiveLane.
#include <functional>

#include "validate/gloo/collective_lane.hpp"
#include "validate/harness/collective_backend.hpp"

namespace ddpsim::validate {

// How a collective of the step is launched, by its number; `ended` is called on another thread.
using Launch =
    std::function<std::shared_ptr<LaunchedCollective>(std::size_t collective, std::function<void()> ended)>;

struct LanesDone {
  std::vector<std::shared_ptr<LaunchedCollective>> launched;
  Moment end = 0;             // of both lanes
  Moment backward_start = 0;  // Step::before_last_backward had ended
};

// `in_flight`: how many collectives are carried out at once; of one, none starts before those launched
// before it have ended, and no launch waits for that. Throws what Gloo throws where a collective fails.
LanesDone run_lanes(const Step& step, double slowdown, int in_flight, Moment start, const Launch& launch,
                    const CollectiveBackend::WaitingFor& waiting_for);

}  // namespace ddpsim::validate
