#pragma once
// What adds up to a whole: each part with its share and a bar of it.
#include <iosfwd>
#include <string>
#include <vector>

#include "sim/base/terminal.hpp"
#include "sim/result/columns.hpp"

namespace ddpsim {

// Names have so many columns.
inline constexpr std::size_t kBarNames = 25;

struct Bar {
  std::string name;
  Cell amount;  // a time, or bytes
};

// `whole`: in the unit of the amounts. Bars shrink to the terminal's width.
void print_bars(std::ostream& out, const Terminal& terminal, const std::vector<Bar>& bars, double whole);

}  // namespace ddpsim
