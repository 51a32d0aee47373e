#pragma once
#include <vector>

#include "sim/config/sweep_axes.hpp"

namespace ddpsim {

// For whoever simulates a scenario without its sweep: config::take_sweep_axes, which throws InputError for
// axes of keys that no scenario has, too; those of a sweep are refused as its points are read.
std::vector<config::SweepAxis> take_unused_axes(config::Value& root);

}  // namespace ddpsim
