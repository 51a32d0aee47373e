#pragma once
// A software's share that makes a measured step exact: what somebody with one step of their own does.
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

// The scenario's software with that number changed so that its iteration takes `measured`. Throws InputError
// where the step does not identify it (its own share below a quarter, or one of the others above 40 %), or
// where no plausible value gives the time: 0.1 to 1.1 of the peak (attention from
// 0.02, host up to 1 ms).
Software fit_step(Scenario scenario, Seconds measured, FittedShare share);

}  // namespace ddpsim
