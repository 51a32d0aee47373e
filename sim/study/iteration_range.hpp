#pragma once
// From where to where an iteration may take, for what nobody measured: docs/model.md, "What the range holds".
#include <span>

#include "sim/engine/scenario.hpp"
#include "sim/result/metrics.hpp"

namespace ddpsim {

// What the iteration takes at both ends of its physics' range.
struct PhysicsEnds {
  Seconds least, most;
};

// Of the iteration that `rank` ends, whose terms `metrics` are: the ends of its physics and the scenario's
// doubts, as independent factors. Nothing where there are neither.
std::optional<IterationRange> iteration_range(const Scenario& scenario, const IterationMetrics& metrics,
                                              const RankTimeline& rank,
                                              const std::optional<PhysicsEnds>& physics);

}  // namespace ddpsim
