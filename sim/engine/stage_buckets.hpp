#pragma once
// What of a stage is reduced, and gathered, together.
#include <vector>

#include "sim/compute/stage_times.hpp"
#include "sim/program/pipeline.hpp"
#include "sim/strategy/stage_axis.hpp"

namespace ddpsim {

// In the order they are ready. `is_first`: of the first chunk of the first stage. `splits_experts`: ranks
// have a share of them each, and reduce them apart from all else.
std::vector<ReducedPart> stage_buckets(const std::vector<StagePart>& parts, const StageAxis& axis,
                                       bool is_first, bool splits_experts);

}  // namespace ddpsim
