#pragma once
// How strongly compute and communication slow one another down, from one overlapped iteration that was
// measured.
#include <functional>
#include <optional>

#include "sim/base/units.hpp"

namespace ddpsim::calibrate {

// `tail`: what of the communication is waited for after the backward pass (exposed communication);
// `communication`: how long collectives are in flight, without waiting for other ranks.
struct OverlappedIteration {
  Seconds iteration;
  std::optional<Seconds> tail = {};
  std::optional<Seconds> communication = {};
};

// The prediction with compute at 1/(1+s) and collectives at 1/(1+r) of their speed while both are active; its
// tail and communication are always there. Must not get shorter with s or r.
using PredictOverlap = std::function<OverlappedIteration(double s, double r)>;

struct InterferenceFit {
  double compute = 0;     // s
  double collective = 0;  // r
  bool separate =
      false;  // communication in flight or the tail told s and r apart; else r = s, because one time cannot
  // One of them was measured, and no r gives it: what came closest.
  std::optional<Seconds> closest = std::nullopt;
  OverlappedIteration predicted;
};

// Throws InputError (without a place) where interference changes nothing, where no s up to 20 makes the
// prediction as long as what was measured, or it is longer than that already without interference, by more
// than 0.1 %.
InterferenceFit fit_interference(const OverlappedIteration& measured, const PredictOverlap& predict);

}  // namespace ddpsim::calibrate
