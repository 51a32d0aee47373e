#pragma once
// Whether a calibration is farther off its own rows than what was known before it, by band of sizes.
#include <optional>
#include <string>
#include <vector>

#include "sim/calibrate/judge.hpp"

namespace ddpsim::calibrate {

struct WorseBand {
  Band band;
  double before = 0, after = 0;  // mean errors of its rows

  [[nodiscard]] std::string text() const;  // "54 % off rows below 256 KiB, where it was 24 % before"
};

// The first band in which rows of these tables, all together, are worse off by a point and a half. Rows are
// known to 5 % (the unit of the fits): up to there nothing is worse.
std::optional<WorseBand> worse_band(const std::vector<const Measurement*>& tables,
                                    const nccl::Calibration& before, const nccl::Calibration& after);

}  // namespace ddpsim::calibrate
