#pragma once
// Files of calibrated interference (docs/reference/measured.md), which scenarios name as physics.calibration.
#include <optional>
#include <string>

#include "sim/evidence/evidence.hpp"
#include "sim/program/physics.hpp"

namespace ddpsim {

struct PhysicsCalibration {
  Interference interference;
  std::optional<std::string> run_set = {};  // what was measured together, on one machine and day
  std::optional<Seconds> launch = {};       // of each collective
  std::optional<double> spread = {};        // of GPUs
  bool is_fitted = false;                   // that it is from a file
};

// Throws InputError with the place and a hint.
PhysicsCalibration read_physics_calibration(const std::string& path);
// What the steps that it was fitted to say besides, with what `known` says.
Evidence read_physics_evidence(const std::string& path, Evidence known);

// `fitted_to`: for people, one line; `measured`: the steps, empty where nothing says how they move.
std::string write_physics_calibration(const PhysicsCalibration& calibration, const std::string& fitted_to,
                                      const Evidence& measured = {});

}  // namespace ddpsim
