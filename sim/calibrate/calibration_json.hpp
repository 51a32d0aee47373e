#pragma once
#include <string>
#include <vector>

#include "sim/calibrate/judge.hpp"
#include "sim/nccl/calibration.hpp"

namespace ddpsim::calibrate {

// One table against a prediction.
struct JudgedTable {
  std::string title;
  Operation operation{};
  int ranks = 0, nodes = 1;
  std::string algorithm;  // of its largest message
  bool fitted = false;    // to this very table
  Judgement judgement;
};

// {"curves": [...], "lines": [...], "tables": [{..., "points": [...]}]} (docs/reference/measured.md).
std::string calibration_json(const nccl::Calibration& calibration, const std::vector<JudgedTable>& tables);

}  // namespace ddpsim::calibrate
