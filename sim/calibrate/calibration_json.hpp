#pragma once
#include <string>
#include <vector>

#include "sim/calibrate/judge.hpp"
#include "sim/nccl/cost_model.hpp"

namespace ddpsim::calibrate {

// One table against a prediction.
struct JudgedTable {
  std::string title;
  int ranks = 0, nodes = 1;
  nccl::Algorithm algorithm = nccl::Algorithm::ring;  // of large messages
  bool fitted = false;                                // to this very table
  Judgement judgement;
};

// {"curves": [...], "tables": [{..., "points": [...]}]} (docs/formats.md).
std::string calibration_json(const nccl::Calibration& calibration, const std::vector<JudgedTable>& tables);

}  // namespace ddpsim::calibrate
