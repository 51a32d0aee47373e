#pragma once
// Broadcasts of DDP: of the model's buffers once per step, before its first forward pass, and of parameters
// and buffers once, when it is constructed. Nothing runs beside them, and other groups' traffic is left out.
#include <span>
#include <vector>

#include "sim/engine/scenario.hpp"
#include "sim/timeline/timeline.hpp"

namespace ddpsim {

// How long each group's broadcasts from its rank 0 take, one size after the other. With Gloo on GPUs: its
// model says. Elsewhere nothing says what a broadcast takes: of a ring all-reduce's 2 (n-1) steps a broadcast
// has n (NCCL's tuning.cc: nsteps), so n / (2 (n-1)) of its time under NCCL's model, in the measured table,
// or over the rings of the group's links.
std::vector<Seconds> broadcast_times(const Scenario& scenario, std::span<const Bytes> sizes);

// Of the group that takes longest, what DDP broadcasts when it is constructed; none for other strategies.
std::optional<Seconds> construction_broadcast(const Scenario& scenario);

// Puts each group's broadcast (by group) before the first forward pass of its ranks.
void prepend_broadcasts(std::span<const Seconds> times, Timeline& timeline);

}  // namespace ddpsim
