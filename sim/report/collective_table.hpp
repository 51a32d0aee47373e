#pragma once
// Collectives beside the same ones of another origin, in ms.
#include <iosfwd>
#include <string_view>

#include "sim/base/units.hpp"

namespace ddpsim {

struct CollectiveColumns {
  std::string_view origin;  // "recorded"
  std::string_view first;   // what comes before start and end: "ready"
};

struct CollectiveCells {
  Seconds first, start, end;
};

void print_collective_titles(std::ostream& out, CollectiveColumns left, CollectiveColumns right);
// Differences are of the right one from the left one, the last also as a share of the left one's end.
void print_collectives(std::ostream& out, std::size_t index, Bytes bytes, const CollectiveCells& left,
                       const CollectiveCells& right);

}  // namespace ddpsim
