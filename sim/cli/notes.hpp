#pragma once
// What the user should know beside the results: notes on stderr.
#include <span>
#include <vector>

#include "sim/engine/scenario.hpp"
#include "sim/engine/scenario_variant.hpp"
#include "sim/report/metrics.hpp"
#include "sim/report/sweep_result.hpp"

namespace ddpsim::cli {

// Tells the user on stderr when the simulation will take more than about half a minute.
void warn_if_slow(std::span<const ScenarioVariant> variants);

// Tells the user on stderr where observed compute times are too few for so many ranks.
void report_observed(std::span<const Scenario> scenarios);

// Tells the user on stderr where a trace was recorded on another GPU than the cluster's.
void report_other_gpu(std::span<const Scenario> scenarios);

// Tells the user on stderr where auto does not mean NCCL.
void report_plain_rings(std::span<const Scenario> scenarios);

// Tells the user on stderr where measured tables had to be repaired, and how many messages lie outside them.
void report_table_use(std::span<const ScenarioVariant> variants);

// Tells the user on stderr how many measured iterations belong to none of these predictions.
void report_unmatched(const std::vector<MeasuredIteration>& measured,
                      std::span<const IterationMetrics> predictions);

}  // namespace ddpsim::cli
