#pragma once
// A step as two lines of text: what a GPU computes, and how busy its network is.
#include <iosfwd>

#include "sim/base/terminal.hpp"
#include "sim/timeline/timeline.hpp"

namespace ddpsim {

// As wide as the terminal, at most 120 columns, with a legend of the letters that it uses.
void print_step_strip(std::ostream& out, const Terminal& terminal, const RankTimeline& rank);

}  // namespace ddpsim
