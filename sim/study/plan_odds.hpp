#pragma once
// How sure it is which of the plans is best.
#include <vector>

#include "sim/config/value.hpp"
#include "sim/report/plan_table.hpp"
#include "sim/resolve/resolve.hpp"

namespace ddpsim {

// So many of the fastest plans are compared: each is simulated a dozen times more.
inline constexpr std::size_t kComparedPlans = 16;

// Simulates the first plans with other values of what nobody measured, and puts those that are choices in
// front, by expected regret; the others stay in their order. Where none is a choice all are compared.
void compare_plans(std::vector<PlannedPoint>& best, const config::Value& root, Files& files);

}  // namespace ddpsim
