#pragma once
// Where dispatchers of experts other than NCCL's run, and what they take there.
#include "sim/resolve/shared_model.hpp"

namespace ddpsim {

// With a note of what they rest on. Throws InputError where nobody has measured them.
ExpertCollectives dispatched_times(const SharedCluster& of, Scenario& scenario);

}  // namespace ddpsim
