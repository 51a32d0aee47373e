#pragma once
// Files of calibrated interference (docs/formats.md), which scenarios name as physics.calibration.
#include <optional>
#include <string>

#include "sim/program/physics.hpp"

namespace ddpsim {

struct PhysicsCalibration {
  Interference interference;
  std::optional<std::string> run_set = {};  // what was measured together, on one machine and day
  std::optional<Seconds> launch = {};       // of each collective
  std::optional<double> spread = {};        // of GPUs
};

// Throws InputError with the place and a hint.
PhysicsCalibration read_physics_calibration(const std::string& path);

// `fitted_to`: for people, one line.
std::string write_physics_calibration(const PhysicsCalibration& calibration, const std::string& fitted_to);

}  // namespace ddpsim
