#pragma once
// What a measured step tells: it weighs the draws of what nobody measured (docs/model.md, "How sure a
// prediction is"), and a share of the GPU's peak takes the middle.
#include <optional>
#include <string>

#include "sim/base/names.hpp"
#include "sim/engine/scenario.hpp"

namespace ddpsim {

enum class FittedShare { gemm, attention, host };
inline constexpr Names<FittedShare, 3> kFittedShareNames{
    {{"gemm", FittedShare::gemm}, {"attention", FittedShare::attention}, {"host", FittedShare::host}}};

// How much of a GPU's compute would be gone if one kind of work took no time.
struct StepShares {
  double products = 0, attention = 0, host = 0;
};
StepShares step_shares(const ModelStep& step);
StepShares step_shares(const RecordedWork& work);

struct StepFit {
  Software software;
  // The share that makes the step exact; none: the step does not tell one, or it is not the first that this
  // software is calibrated to, and all of its shares have the middle of what the steps leave.
  std::optional<FittedShare> share = {};
  Seconds predicted = {};  // the scenario's iteration with it
  Evidence measured = {};  // what a file says of it; empty without evidence
};

struct StepQuestion {
  Seconds measured;
  std::string job;                        // a phrase of which it is
  std::optional<FittedShare> share = {};  // none: the one that most of the step's compute is
  bool accepts_all = false;  // also a step that nothing of what is known gives: then it tells of no network
};
// Throws InputError where no draw of the scenario comes near the measurement: what is described is not what
// was measured. Of a share that was asked for also where the step does not identify it (its own part below
// a quarter, or one of the others above 40 %), or where no plausible value of it gives the time: 0.1 to 1.1
// of the peak (attention from 0.02, host up to 1 ms).
StepFit fit_step(Scenario scenario, const StepQuestion& question);

}  // namespace ddpsim
