#pragma once
// Why no ring leads through some GPUs.
#include <optional>
#include <vector>

#include "sim/topology/ring_search.hpp"

namespace ddpsim {

// Members without which the others fall into more parts than there are of them. A ring passes from part to
// part through one of them each time, so there is none (Chvatal, "Tough graphs and Hamiltonian circuits",
// 1973). Empty `members`: the parts are not joined at all.
struct RingCut {
  std::vector<int> members;
  std::vector<std::vector<int>> parts;
};

// The smallest cut, the first in order of members; looked for among up to 16 members. There are rings that
// fail without one.
std::optional<RingCut> find_ring_cut(const RingHops& hops);

}  // namespace ddpsim
