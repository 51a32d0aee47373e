#pragma once
// The software file of a scenario whose step was measured.
#include <optional>
#include <string>
#include <string_view>

#include "sim/study/step_fit.hpp"

namespace ddpsim {

struct SoftwareQuestion {
  Seconds measured;
  std::string source = {};                // a phrase: where the time is from; empty: somebody says it
  std::optional<FittedShare> share = {};  // as of a StepQuestion
  bool accepts_all = false;
};
struct CalibratedSoftware {
  StepFit fit;
  std::string text;  // of the file
};
// `name`: of the scenario's file. Throws InputError as fit_step does, and of a scenario whose compute no
// software times.
CalibratedSoftware calibrated_software(const Scenario& scenario, const std::string& name,
                                       const SoftwareQuestion& question);

// "gemm"; "compute" where all of its shares moved.
std::string_view name_of_share(const std::optional<FittedShare>& share);
// Of that share, or the host's pace.
std::string fitted_value(const Software& software, std::optional<FittedShare> share, Precision precision);

}  // namespace ddpsim
