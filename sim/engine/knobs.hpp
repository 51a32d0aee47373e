#pragma once
// A scenario with other values of what nobody measured, in memory.
#include <map>
#include <optional>
#include <string>

#include "sim/engine/scenario.hpp"

namespace ddpsim {

// Factors on the times that it has, and levels.
struct Knobs {
  double compute = 1;                         // what GPUs compute; no share of a peak passes 1
  double launches = 1;                        // of the host, each
  double hooks = 1;                           // likewise, of a framework
  std::map<std::string, double> slower = {};  // collectives, by axis of the communication
  std::optional<Interference> interference = {};
  std::optional<double> spread = {};  // of ranks
  bool operator==(const Knobs&) const = default;
};

// Of a GPU's figures, and of the host's pace.
Software slowed(Software software, const Knobs& knobs);
void turn(Scenario& scenario, const Knobs& knobs);

}  // namespace ddpsim
