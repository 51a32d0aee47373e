#pragma once
// Writes calibration files (docs/formats.md): the curves of a class of machines, and what they were fitted
// to.
#include <string>
#include <vector>

#include "sim/calibrate/judge.hpp"
#include "sim/nccl/cost_model.hpp"

namespace ddpsim::calibrate {

// A table that a calibration was fitted to, and how far the calibration is from it.
struct FittedTable {
  const Measurement* measurement;
  Judgement judgement;
};
// Curves that none of the tables informed are written without.
std::string write_calibration(const nccl::Calibration& calibration, const std::vector<FittedTable>& tables);

}  // namespace ddpsim::calibrate
