#pragma once
// What a prediction rests on that nobody measured for its job.
#include <string>
#include <vector>

#include "sim/evidence/evidence.hpp"

namespace ddpsim {

struct Doubt {
  const EvidenceClass* of = nullptr;
  std::string what;                    // a phrase: the class's, or more exactly
  std::vector<std::string> axes = {};  // of a network: the axes of the communication that it joins, sorted
  bool operator==(const Doubt&) const = default;
};

// Of a class that there is.
inline Doubt doubt_of(Subject of, std::string_view name, std::string what = {}) {
  const auto* found = find_evidence_class(of, name);
  return {found, what.empty() && found ? std::string(found->what) : std::move(what)};
}

}  // namespace ddpsim
