#pragma once
// A scenario as a step that ranks can really run: its compute is waited for as long as the trace says, its
// collectives are real.
#include <map>
#include <vector>

#include "validate/harness/step.hpp"

#include "sim/engine/scenario.hpp"

namespace ddpsim::validate {

// Throws InputError, with what to change, for what ranks on a testbed cannot do: the first iteration,
// used-parameter bitmaps, a host that steps the optimizer.
void check_can_be_real(const Scenario& scenario);

// The program that is simulated, without what is modelled of an implementation: the real one has its own.
// Gradients and parameters of any dtype are communicated as float32 of as many bytes.
Step replay_step(const Scenario& scenario, const std::string& name, const Sampling& sampling);

// How many of these a real collective has: whole parts for all ranks of what is gathered or scattered.
std::size_t elements_of(Operation operation, Bytes bytes, int ranks);

// Which of such a step's collectives reduces each bucket; of several micro-batches in the last.
std::vector<std::size_t> reductions_of(const Step& step, std::size_t buckets);

// Of the stragglers. Which rank it is makes no difference, so those of a class are the first that no other
// class claims.
std::map<int, double> slowdowns_of(const Scenario& scenario);

}  // namespace ddpsim::validate
