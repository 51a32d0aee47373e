#pragma once
// How far two simulations of one step are apart, to hold one way of carrying it out to another.
#include "sim/timeline/timeline.hpp"

namespace ddpsim {

// The largest difference between any two times of the step: the start and the end of whatever is computed and
// communicated, of all classes of ranks, as a share of the longer iteration. Infinite where they did not do
// the same.
double largest_difference(const Timeline& one, const Timeline& other);

}  // namespace ddpsim
