#pragma once
// What a plan tries as settings of a scenario.
#include <cstdint>
#include <string>
#include <vector>

#include "sim/config/value.hpp"
#include "sim/report/plan_table.hpp"

namespace ddpsim {

using PlanSettings = std::vector<PlannedPoint::Setting>;

struct PlanSplit {
  std::int64_t tensor, context, pipeline, expert;
  [[nodiscard]] bool is_shared() const { return tensor * context * pipeline * expert > 1; }
};
PlanSettings settings_of(const PlanSplit& split);

// The scenario with them, less sections that then count for nothing.
config::Value with_settings(const config::Value& root, const PlanSettings& settings);

// Layers of each stage where they do not divide: one less at both ends, which have the embedding and the
// head, and then from the front.
std::string uneven_layers(std::int64_t layers, std::int64_t stages);

// Of the settings all but the strategy: strategies differ in what they exchange along the data axis, and a
// bound of passes is of all of them.
std::string passes_of(const PlanSettings& settings);

}  // namespace ddpsim
