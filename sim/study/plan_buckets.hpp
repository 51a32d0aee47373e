#pragma once
// What is reduced at once, tried in other sizes for the fastest plans of `ddpsim plan`.
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "sim/config/value.hpp"
#include "sim/engine/scenario.hpp"
#include "sim/report/plan_table.hpp"

namespace ddpsim {

// Of so many of the fastest plans sizes of buckets are tried.
inline constexpr std::size_t kSizedPlans = 3;

// A size that saves enough of a step becomes a setting of its plan, and `best` is in order again. `read`: a
// scenario with settings. None where `root` has such a key of its own. Returns how many were simulated.
std::size_t try_bucket_sizes(std::vector<PlannedPoint>& best, const config::Value& root, double most_memory,
                             const std::function<Scenario(const std::vector<PlannedPoint::Setting>&)>& read);

void sort_by_iteration(std::vector<PlannedPoint>& points);

// What a step takes, of a GPU's.
double memory_share(const Scenario& scenario);

}  // namespace ddpsim
