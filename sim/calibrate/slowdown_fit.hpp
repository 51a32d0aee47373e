#pragma once
// By how much one sort of work on a GPU (kernels that compute, collectives) slows down another that runs
// beside it, from work that was timed both ways. docs/model.md derives it.
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/base/units.hpp"

namespace ddpsim::calibrate {

// Equal where two pieces of work are taken to do the same.
using WorkIdentity = std::vector<std::uint64_t>;

// Work that ran once.
struct TimedWork {
  std::uint64_t kind = 0;                // a kernel and its launch shape
  std::vector<WorkIdentity> identities;  // by which it may be compared, the surest first
  Seconds duration;
  Seconds beside;          // of that, with the other sort in flight; zero: it ran alone
  bool disturbed = false;  // by something else beside it: neither compared nor compared with
};

struct SlowdownFit {
  double slowdown =
      0;  // s: work takes 1 + s times as long beside the other sort; infinite where none is left
  std::optional<double> standard_error;                       // over kinds; none of a single one
  double lower_quartile = 0, median = 0, upper_quartile = 0;  // of the kinds' own, by time beside
  std::size_t kinds = 0;                                      // that were compared; 0: nothing was
  struct Part {
    std::size_t count = 0;
    Seconds beside;
  };
  Part all, compared;  // of the work that ran beside the other sort
  Part never_alone;    // nothing of its identities ran alone
  Part unequal;        // what did, took times that differ by more than kEqualTimes
  Part disturbed;
  // How much longer work takes alone than in `reference`, over what ran alone in both.
  std::optional<double> drift;
};

// Work alone that is the same takes the same time, up to this share of its median.
inline constexpr double kEqualTimes = 0.1;

// Work that ran beside the other sort is compared with what ran alone under the same identity: the median of
// its times here, else in `reference`.
SlowdownFit fit_slowdown(std::span<const TimedWork> works, std::span<const TimedWork> reference = {});

}  // namespace ddpsim::calibrate
