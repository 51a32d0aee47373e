#pragma once
#include "sim/cost/all_reduce_scale.hpp"

namespace ddpsim {

struct Scenario;

// Of a scenario whose all-reduces take what a table says, or NCCL's or another library's model. Which
// algorithm the model picks stays.
void scale_all_reduces(Scenario& scenario, const AllReduceScale& scale);

}  // namespace ddpsim
