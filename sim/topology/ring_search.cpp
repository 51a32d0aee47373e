#include "sim/topology/ring_search.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>

namespace ddpsim {
namespace {

constexpr int kStepsWithoutSuccess = 20'000;
constexpr int kMostRings = 32;  // nccl.h: MAXCHANNELS up to NCCL 2.18

// How many rings of `width` each link can carry.
std::vector<int> capacities(const RingHops& hops, BytesPerSecond width) {
  std::vector<int> capacity;
  for (auto bandwidth : hops.bandwidth)
    capacity.push_back(static_cast<int>(std::min(std::floor(bandwidth / width * (1 + 1e-9)), 1e6)));
  return capacity;
}

// Every ring leaves every member by one of its first links and comes in by one of its last: an upper bound.
int most_rings(const RingHops& hops, const std::vector<int>& capacity) {
  auto bound_at = [&](int member, bool leaving) {
    std::set<int> links;
    for (int other = 0; other < hops.members; ++other)
      for (const auto* table : {&hops.inner, &hops.closing}) {
        const auto& hop = (*table)[leaving ? hops.at(member, other) : hops.at(other, member)];
        if (hop && !hop->empty()) links.insert(leaving ? hop->front() : hop->back());
      }
    long bound = 0;
    for (int link : links) bound += capacity[link];
    return static_cast<int>(std::min<long>(bound, kMostRings));
  };
  int bound = kMostRings;
  for (int member = 0; member < hops.members; ++member)
    bound = std::min({bound, bound_at(member, true), bound_at(member, false)});
  bool can_close = std::any_of(hops.closing.begin(), hops.closing.end(), [&](const RingHops::Hop& hop) {
    return hop && std::all_of(hop->begin(), hop->end(), [&](int link) { return capacity[link] > 0; });
  });
  return can_close ? bound : 0;
}

// Every ring closes once, and takes the narrowest link of some way to do so: another upper bound.
int most_closings(const RingHops& hops, const std::vector<int>& capacity) {
  std::set<int> narrowest;
  for (const auto& hop : hops.closing) {
    if (!hop) continue;
    if (hop->empty()) return kMostRings;
    narrowest.insert(
        *std::min_element(hop->begin(), hop->end(), [&](int a, int b) { return capacity[a] < capacity[b]; }));
  }
  long bound = 0;
  for (int link : narrowest) bound += capacity[link];
  return static_cast<int>(std::min<long>(bound, kMostRings));
}

class Packer {
 public:
  Packer(const RingHops& hops, std::vector<int> left, int limit)
      : hops_(hops), left_(std::move(left)), limit_(static_cast<std::size_t>(limit)) {}

  Orders run() {
    next_ring();
    return best_;
  }

 private:
  // All of these return true when the search is over.
  bool next_ring() {
    if (rings_.size() > best_.size()) {
      best_ = rings_;
      steps_ = 0;
    }
    if (rings_.size() == limit_) return true;
    int channel = static_cast<int>(rings_.size());
    rings_.emplace_back();
    std::vector<char> visited(static_cast<std::size_t>(hops_.members), 0);
    int entries = hops_.closed ? 1 : hops_.members;
    for (int i = 0; i < entries; ++i) {
      int first = hops_.closed ? 0 : (channel + i) % hops_.members;
      if (can_close_at(first) ? visit(first, visited) : ++steps_ > kStepsWithoutSuccess) return true;
    }
    rings_.pop_back();
    return false;
  }

  // Whether some way back to where a ring starts has room: without one, no order of the others helps.
  bool can_close_at(int first) {
    for (int last = 0; last < hops_.members; ++last)
      if ((last != first || hops_.members == 1) &&
          over(hops_.closing[hops_.at(last, first)], [] { return true; }))
        return true;
    return false;
  }

  bool visit(int member, std::vector<char>& visited) {
    if (++steps_ > kStepsWithoutSuccess) return true;
    visited[member] = 1;
    rings_.back().push_back(member);
    if (static_cast<int>(rings_.back().size()) == hops_.members) {
      if (over(hops_.closing[hops_.at(member, rings_.back().front())], [&] { return next_ring(); }))
        return true;
    } else {
      for (int i = 1; i < hops_.members; ++i) {
        int next = (member + i) % hops_.members;
        if (visited[next]) continue;
        if (over(hops_.inner[hops_.at(member, next)], [&] { return visit(next, visited); })) return true;
      }
    }
    rings_.back().pop_back();
    visited[member] = 0;
    return false;
  }

  // Goes on over a hop if its links have room.
  template <class GoOn>
  bool over(const RingHops::Hop& hop, GoOn&& go_on) {
    if (!hop) return false;
    bool room = true;
    for (int link : *hop) room = --left_[link] >= 0 && room;
    bool done = room && go_on();
    for (int link : *hop) ++left_[link];
    return done;
  }

  const RingHops& hops_;
  std::vector<int> left_;
  std::size_t limit_;
  Orders rings_, best_;
  int steps_ = 0;
};

// Widths that are worth trying, widest first: those at which some link carries a whole number of rings.
std::vector<BytesPerSecond> widths(const RingHops& hops, int most_shares) {
  std::set<BytesPerSecond, std::greater<>> distinct(hops.bandwidth.begin(), hops.bandwidth.end());
  std::set<BytesPerSecond, std::greater<>> all;
  for (auto bandwidth : distinct)
    for (int shares = 1; shares <= most_shares; ++shares) all.insert(bandwidth / shares);
  // So narrow that one ring may use a link with every hop.
  if (!distinct.empty()) all.insert(*distinct.rbegin() / (2.0 * hops.members + 2));
  return {all.begin(), all.end()};
}

}  // namespace

Orders pack_rings(const RingHops& hops, BytesPerSecond width, int limit) {
  auto capacity = capacities(hops, width);
  limit = std::min({limit, most_rings(hops, capacity), most_closings(hops, capacity)});
  return limit > 0 ? Packer(hops, std::move(capacity), limit).run() : Orders{};
}

std::vector<Packing> ring_packings(const RingHops& hops, std::optional<int> exactly) {
  if (hops.bandwidth.empty() && hops.members == 1) return {{BytesPerSecond(1), {{0}}}};
  std::vector<Packing> packings;
  BytesPerSecond most(0);
  for (auto width : widths(hops, exactly ? std::min(*exactly, kMostRings) : 2)) {
    int bound = most_rings(hops, capacities(hops, width));
    if (exactly ? bound < std::min(*exactly, kMostRings) && !packings.empty() : !(width * bound > most))
      continue;
    auto rings = pack_rings(hops, width, exactly.value_or(kMostRings));
    if (rings.empty()) continue;
    int found = static_cast<int>(rings.size());
    most = std::max(most, width * found);
    packings.push_back({width, std::move(rings)});
    if (exactly && found >= *exactly) break;
  }
  return packings;
}

}  // namespace ddpsim
