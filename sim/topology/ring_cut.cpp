#include "sim/topology/ring_cut.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace ddpsim {
namespace {

using Set = std::uint32_t;  // of members, by bit

constexpr int kMostMembers = 16;

std::vector<int> listed(Set set) {
  std::vector<int> members;
  for (; set != 0; set &= set - 1) members.push_back(std::countr_zero(set));
  return members;
}

// Whom each member has a way to or from.
std::vector<Set> neighbours_of(const RingHops& hops) {
  std::vector<Set> neighbours(static_cast<std::size_t>(hops.members), 0);
  for (int from = 0; from < hops.members; ++from)
    for (int to = 0; to < hops.members; ++to)
      if (from != to && hops.inner[hops.at(from, to)]) {
        neighbours[static_cast<std::size_t>(from)] |= Set{1} << to;
        neighbours[static_cast<std::size_t>(to)] |= Set{1} << from;
      }
  return neighbours;
}

std::vector<Set> parts_of(Set left, const std::vector<Set>& neighbours) {
  std::vector<Set> parts;
  while (left != 0) {
    Set part = left & -left, grown = 0;
    while (part != grown) {
      grown = part;
      for (int member : listed(grown)) part |= neighbours[static_cast<std::size_t>(member)] & left;
    }
    parts.push_back(part);
    left &= ~part;
  }
  return parts;
}

}  // namespace

std::optional<RingCut> find_ring_cut(const RingHops& hops) {
  if (hops.members > kMostMembers) return std::nullopt;
  auto neighbours = neighbours_of(hops);
  Set all = (Set{1} << hops.members) - 1;
  // k members can cut off more than k others only while k is less than half.
  for (int size = 0; 2 * size < hops.members; ++size)
    for (Set cut = 0; cut <= all; ++cut) {
      if (std::popcount(cut) != size) continue;
      auto parts = parts_of(all & ~cut, neighbours);
      if (static_cast<int>(parts.size()) <= std::max(size, 1)) continue;
      RingCut found{listed(cut), {}};
      for (Set part : parts) found.parts.push_back(listed(part));
      return found;
    }
  return std::nullopt;
}

}  // namespace ddpsim
