#pragma once
// How a timeline is laid out: which spans lie beside one another, and what ranks that do the same are called.
#include <string>
#include <vector>

#include "sim/timeline/timeline.hpp"

namespace ddpsim {

// By span, the first lane that is free at its start.
std::vector<int> lanes_of(const std::vector<Span>& spans);

// "ranks like 0 (3 ranks, 1.5x slower)", with the stage of a pipeline before it, `more` behind.
std::string class_name(const RankTimeline& ranks, bool in_pipeline, const std::string& more = "");

// When the earliest span of all begins.
Seconds earliest(const Timeline& timeline);

}  // namespace ddpsim
