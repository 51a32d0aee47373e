#pragma once
// The bucket cap that makes an iteration shortest, how little that matters around it, and what PyTorch's
// default costs.
#include <optional>

#include "sim/config/value.hpp"
#include "sim/report/cap_advice.hpp"
#include "sim/resolve/resolve.hpp"

namespace ddpsim {

struct BestCap {
  Bytes cap;                          // a round one of those that give the best buckets, simulated
  Seconds iteration;                  // under it
  Bytes plateau_least;                // caps from here on (where not all were tried: those tried), up to
  std::optional<Bytes> plateau_most;  // here (none: any larger one), are within kPlateau of the best
  Bytes default_cap;                  // what PyTorch takes if nobody says
  Seconds with_default;               // the iteration under the default
  std::size_t tried = 0;              // caps, or bucket assignments
  std::optional<Odds> default_odds;   // of the default against it; none: it is the best, or all is certain
};

// `root` is a scenario without its sweep section. `exact`: over every bucket assignment that a cap can give;
// else over caps from 1 MiB to 1 GiB, the default among them. It wins a tie. Throws InputError where the
// strategy has no bucket cap.
BestCap best_cap(const config::Value& root, Files& files, bool exact, unsigned jobs);

}  // namespace ddpsim
