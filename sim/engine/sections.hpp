#pragma once
// The sections of a scenario file that stand on their own. Each throws InputError with the place and a hint.
#include <vector>

#include "sim/config/value.hpp"
#include "sim/engine/scenario.hpp"

namespace ddpsim {

// `ddp`; null: all defaults. unused_parameters belong to the workload and stay empty.
DdpOptions read_ddp_section(const config::Value* ddp);

// `workload.stragglers` (null: none) as classes of ranks with the same slowdown, each named by its lowest
// rank.
std::vector<RankClass> read_rank_classes(const config::Value* stragglers, int world_size);

}  // namespace ddpsim
