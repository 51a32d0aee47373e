#pragma once
// A scenario as a step that ranks can really run: its compute is waited for as long as the trace says, its
// collectives are real.
#include <map>

#include "validate/harness/step.hpp"

#include "sim/engine/scenario.hpp"

namespace ddpsim::validate {

// Throws InputError, with what to change, for what ranks on a testbed cannot do: the first iteration and
// used-parameter bitmaps.
void check_can_be_real(const Scenario& scenario);

// The program that is simulated, without what is modelled of an implementation: the real one has its own.
// Gradients of any dtype are reduced as float32 of as many bytes.
Step replay_step(const Scenario& scenario, const std::string& name, const Sampling& sampling);

// Of the stragglers. Which rank it is makes no difference, so those of a class are the first that no other
// class claims.
std::map<int, double> slowdowns_of(const Scenario& scenario);

// From the start of such a step to the start of its last backward pass, on the slowest rank.
Seconds backward_start(const Scenario& scenario);

}  // namespace ddpsim::validate
