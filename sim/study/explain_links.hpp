#pragma once
// The part of `simulate --explain` that is about what all-reduces take: latency or bandwidth, which link, and
// what other links would change.
#include <iosfwd>
#include <string>
#include <vector>

#include "sim/study/what_if.hpp"

namespace ddpsim {

// How much of the all-reduces' time is latency and how much bandwidth, by simulating without either, and the
// link that is busy for longest.
void explain_all_reduces(std::ostream& out, WhatIf& what_if, const Scenario& scenario,
                         const IterationMetrics& metrics);

// More bandwidth, less latency, a wider bottleneck.
void add_link_changes(const WhatIf& what_if, const Scenario& scenario, std::vector<Change>& changes,
                      std::vector<LeftOut>& left_out);

// What such changes mean where it is not the links that say what all-reduces take; empty where they do.
std::string note_on_links(const Scenario& scenario);

}  // namespace ddpsim
