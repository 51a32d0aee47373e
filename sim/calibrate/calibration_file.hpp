#pragma once
// Writes calibration files (docs/reference/measured.md): the curves and lines of a class of machines, and
// what they were fitted to.
#include <string>
#include <vector>

#include "sim/calibrate/fit.hpp"
#include "sim/calibrate/judge.hpp"

namespace ddpsim::calibrate {

// A table that a calibration was fitted to, and how far the calibration is from it.
struct FittedTable {
  const Measurement* measurement;
  Judgement judgement;
};
// Notes of everything that was fitted to which rows.
void note_fit(nccl::Calibration& fitted, const std::vector<FittedTable>& tables);

std::string write_calibration(const nccl::Calibration& calibration);

}  // namespace ddpsim::calibrate
