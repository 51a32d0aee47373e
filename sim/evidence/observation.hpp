#pragma once
// A job that was measured: what it took tells of what every job shares with it.
#include <string>

#include "sim/base/units.hpp"
#include "sim/evidence/response.hpp"

namespace ddpsim {

struct EvidenceClass;

struct Observation {
  std::string of;  // a phrase of which job it was
  Seconds took;
  double row;         // what a measurement of it has of its own: the scale of Student's t, of logarithms
  Response response;  // by names of classes ("compute same_gpu")
  [[nodiscard]] bool moves_with(const EvidenceClass& one) const;
  bool operator==(const Observation&) const = default;
};

}  // namespace ddpsim
