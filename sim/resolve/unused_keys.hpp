#pragma once
// Keys that are given and make no difference to the job at hand.
#include "sim/engine/scenario.hpp"
#include "sim/job/rows/table.hpp"

namespace ddpsim {

// Into scenario.unused_keys, with a note (code key-unused) for all those that count under the same condition.
void note_unused_keys(const GivenJob& given, Scenario& scenario);

// `root`: a scenario with its sweep. Throws InputError for such a key that was typed, on the command line or
// in Python, and counts at no point of the sweep.
void refuse_unused_keys(const config::Value& root);
// Of one scenario that is no point of a sweep.
void refuse_unused_keys(const Scenario& scenario);

}  // namespace ddpsim
