#pragma once
#include <vector>

#include "sim/engine/scenario.hpp"

namespace ddpsim {

// Makes the first rank of classes[which] a class of its own there; the others of it, if any, come next.
void set_first_apart(std::vector<RankClass>& classes, std::size_t which);

}  // namespace ddpsim
