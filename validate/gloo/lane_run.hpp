#pragma once
// Carries a program out on two lanes: compute waits on the host's clock, communication is Gloo's.
#include <functional>

#include "validate/gloo/launched_collective.hpp"
#include "validate/harness/collective_backend.hpp"

namespace ddpsim::validate {

// How a collective of the step is launched, by its number; `ended` is called on another thread.
using Launch = std::function<LaunchedCollective(std::size_t collective, const std::function<void()>& ended)>;

struct LanesDone {
  std::vector<LaunchedCollective> launched;
  Moment end = 0;             // of both lanes
  Moment backward_start = 0;  // Step::before_last_backward had ended
};

// `in_flight`: how many collectives Gloo carries out at once; of one, none starts before those launched
// before it have ended, and no launch waits for that. Throws what Gloo throws where a collective fails.
LanesDone run_lanes(const Step& step, double slowdown, int in_flight, Moment start, const Launch& launch,
                    const CollectiveBackend::WaitingFor& waiting_for);

}  // namespace ddpsim::validate
