#pragma once
#include <memory>

#include "sim/cost/collective_cost.hpp"

namespace ddpsim {

// Of groups that all do the same at once, on links that they may share: until the slowest of them is through.
// Where groups that do not fold onto one another meet, each operation and size is simulated, once.
std::unique_ptr<CollectiveCost> cost_together(std::shared_ptr<const Communication> communication);

}  // namespace ddpsim
