#include "sim/engine/set_apart.hpp"

namespace ddpsim {

void set_first_apart(std::vector<RankClass>& classes, std::size_t which) {
  auto& first = classes[which];
  if (first.ranks == 1) return;
  auto others = first;
  --others.ranks;
  if (others.stragglers.empty()) {
    ++others.rank;
  } else {
    others.stragglers.erase(others.stragglers.begin());
    others.rank = others.stragglers.front();
    first.stragglers.resize(1);
  }
  first.ranks = 1;
  classes.insert(classes.begin() + static_cast<std::ptrdiff_t>(which) + 1, std::move(others));
}

}  // namespace ddpsim
