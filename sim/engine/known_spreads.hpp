#pragma once
#include <algorithm>
#include <memory>
#include <vector>

#include "sim/engine/scenario.hpp"

namespace ddpsim {

// Groups whose slowest ranks are as slow as a spread makes them. A point of a sweep has up to three spreads,
// its own and the ends of its range, and the next point mostly the same: the last few are kept.
class KnownSpreads {
 public:
  const std::vector<RankGroup>& of(const Scenario& scenario) {
    const auto& spread = scenario.physics.spread;
    auto known = std::find_if(known_.begin(), known_.end(), [&](const auto& one) {
      return one->spread == spread && one->groups == scenario.groups && one->parallel == scenario.parallel;
    });
    if (known == known_.end()) {
      constexpr std::size_t kMostKept = 4;
      if (known_.size() == kMostKept) known_.erase(known_.begin());
      known_.push_back(std::make_unique<Known>(
          Known{scenario.groups, spread, scenario.parallel, groups_with_spread(scenario)}));
      known = known_.end() - 1;
    }
    return (*known)->with_spread;
  }

 private:
  struct Known {
    std::vector<RankGroup> groups;
    Spread spread;
    std::shared_ptr<const ParallelStep> parallel;  // which stage has the most to do
    std::vector<RankGroup> with_spread;
  };
  std::vector<std::unique_ptr<Known>> known_;
};

}  // namespace ddpsim
