#pragma once
// The parts of `simulate --explain` that are about models which GPUs share: what a step is lost to, and other
// splits, schedules and micro-batches.
#include <iosfwd>
#include <vector>

#include "sim/study/what_if.hpp"

namespace ddpsim {

// The losses, most first.
void explain_losses(std::ostream& out, const IterationMetrics& metrics);

// Degrees twice and half as large, schedules, chunks, what hides what, recomputation, micro-batches,
// strategies of the data axis, links. What the model cannot take is refused when it is simulated.
void add_shared_changes(const WhatIf& what_if, const Scenario& scenario, std::vector<Change>& changes);

}  // namespace ddpsim
