#pragma once
// What several overlapped iterations that were measured say together: interference, and as much besides as
// they can tell from it.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/calibrate/interference_fit.hpp"

namespace ddpsim::calibrate {

// Relative: beyond it the rows are of something else.
inline constexpr double kLargestMiss = 0.15;

struct OverlapParameters {
  double compute = 0, collective = 0;  // interference: s and r
  // Absent: as the scenario has it.
  std::optional<Seconds> launch;  // of each collective, on the compute lane
  std::optional<double> spread;   // of GPUs: standard deviation over median
};

struct MeasuredOverlap {
  OverlappedIteration measured;
  int buckets = 1;  // collectives of the iteration
  int ranks = 2;
};

// Every row's prediction with these.
using PredictOverlaps = std::function<std::vector<OverlappedIteration>(const OverlapParameters&)>;

// Of launch, spread and (from tails and times in flight) r other than s: what the rows say of it.
struct OverlapFinding {
  std::string name;                      // launch, spread, collective
  std::optional<double> standard_error;  // none: it was not fitted
  std::string because = {};              // why not
};

struct OverlapRowsFit {
  OverlapParameters parameters;
  double standard_error = 0;  // of s
  std::vector<OverlapFinding> others;
  std::vector<OverlappedIteration> predicted;
};

// What the scenario says itself, so that it is not fitted.
struct KnownOverlap {
  bool launch = false, spread = false;
};

// Least squares of the iterations' relative errors, tails and times in flight included where r is fitted. Of
// what the rows differ in (collectives, ranks, these) everything is fitted at first, and the least certain
// left out until each is certain to 95 % to be there (Student's t). Throws InputError (without a place) for
// too few rows, where interference changes nothing, and where a row is missed by more than 15 %.
OverlapRowsFit fit_overlap_rows(const std::vector<MeasuredOverlap>& rows, const PredictOverlaps& predict,
                                const KnownOverlap& known = {});

}  // namespace ddpsim::calibrate
