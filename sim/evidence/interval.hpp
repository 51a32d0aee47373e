#pragma once
// Quantiles of draws, and how good they were once the truth is known.
#include <span>
#include <vector>

#include "sim/base/units.hpp"

namespace ddpsim {

// One a draw, not below 0; none: all count alike.
using Weights = std::vector<double>;

// Below which this share of the draws lies, from 0 to 1: between the middles of their weights on straight
// lines.
Seconds quantile_of(std::span<const Seconds> draws, double share, const Weights& weights = {});

struct Interval {
  Seconds least, most;
  [[nodiscard]] double width() const { return most / least - 1; }  // of its lower end
  [[nodiscard]] bool holds(Seconds time) const { return least <= time && time <= most; }
  bool operator==(const Interval&) const = default;
};
// The middle one that this share of the draws lies in.
Interval interval_of(std::span<const Seconds> draws, double share, const Weights& weights = {});

// The continuous ranked probability score of draws, in their unit, in its fair form (Ferro, "Fair scores for
// ensemble forecasts", 2014): 0 where all are the truth.
double crps(std::vector<double> draws, double truth);

}  // namespace ddpsim
