#pragma once
// How a scenario is to be compared with reality (the section `validation`).
#include <optional>
#include <string>

#include "sim/base/units.hpp"
#include "sim/collective/backend.hpp"

namespace ddpsim {

// replay: compute is replaced by the trace's times. model: the trace's GPT-2 is trained for real.
enum class RealCompute { replay, model };

struct ValidationSettings {
  Backend backend = Backend::gloo;
  RealCompute compute = RealCompute::replay;
  // Of the links between ranks on this machine (validation.testbed); absent: loopback, or the machine's own.
  std::optional<BytesPerSecond> testbed_rate;
  std::optional<Seconds> testbed_delay;  // one way
  // Somebody's measured iteration times instead of a run; an absolute or working-directory path.
  std::optional<std::string> measured;
  std::optional<double> iteration_error, regret;  // thresholds: 0.05 is 5 %
};

}  // namespace ddpsim
