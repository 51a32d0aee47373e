#pragma once
// The part of `simulate --explain` about what a machine's owner can set: which way messages take within a
// node, over how many connections they leave it, on which cables they meet.
#include <vector>

#include "sim/study/what_if.hpp"

namespace ddpsim {

void add_fabric_changes(const Scenario& scenario, std::vector<Change>& changes);

}  // namespace ddpsim
