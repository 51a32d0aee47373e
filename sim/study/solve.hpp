#pragma once
// Which value of a scenario's key gives a step that was measured.
#include <string>

#include "sim/config/value.hpp"
#include "sim/evidence/interval.hpp"
#include "sim/resolve/files.hpp"

namespace ddpsim {

struct Solved {
  std::string value;        // as the scenario takes it: "620MB/s"
  std::string least, most;  // the 80 % interval: empty, without evidence
  Seconds takes;            // the scenario with it: another time where it jumps past the measured one
  int others = 0;           // further values in the range that give it, too
};

// Of a key with a number or a quantity. What is known of networks takes no part where the key is the
// cluster's or the collectives': the key is to explain them. Throws InputError for other keys, and where no
// value of a wide range gives the time.
Solved solve(Files& files, const config::Value& root, const std::string& key, Seconds measured);

}  // namespace ddpsim
