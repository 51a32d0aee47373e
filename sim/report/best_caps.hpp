#pragma once
// The best list of ddp.bucket_caps beside the best single cap, as `simulate --best-caps` prints it.
#include <optional>
#include <string>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/result/odds.hpp"

namespace ddpsim {

struct BestCaps {
  struct Choice {
    std::vector<Bytes> caps;  // one: ddp.bucket_cap
    std::size_t buckets = 0;
    Seconds iteration = {};         // simulated
    std::optional<Odds> odds = {};  // among the three; none: nothing is in doubt
  };
  Choice single;  // the best of all there are
  Choice list;    // never longer than that
  Choice usual;   // PyTorch's default, which wins where it is not told apart
  // Why there may be a better list: what the search leaves out, and the simulation does not. Empty: none is
  // better.
  std::string left_out;
};

// With the lines to paste.
std::string best_caps_text(const BestCaps& best);

}  // namespace ddpsim
