#pragma once
// A step whose layers do not all take what they took in the trace.
#include <span>
#include <vector>

#include "sim/program/shard_units.hpp"

namespace ddpsim {

// The trace with the time of each unit (shard_units()) times its factor: in the forward pass `forward`, in
// the backward pass `backward`, by unit. Where the trace has no forward times of layers they are as
// forward_ends() spreads them.
LayerTrace vary_layers(const LayerTrace& trace, const std::vector<ShardUnit>& units,
                       std::span<const double> forward, std::span<const double> backward);

}  // namespace ddpsim
