#pragma once
// How to spread a model over GPUs (`ddpsim plan`): degrees of parallelism, micro-batch, recomputation and
// strategy, all that fit into memory simulated but those that a bound rules out.
#include <cstdint>
#include <string>
#include <vector>

#include "sim/config/value.hpp"
#include "sim/study/scenario_metrics.hpp"
#include "sim/text/scenario_reader.hpp"

namespace ddpsim {

// What is tried of each; combinations that a model or a cluster does not have are left out.
struct PlanSpace {
  std::vector<std::int64_t> tensor, pipeline, chunks, micro_batch;
  std::vector<std::string> recompute, strategies, strategies_of_shared;  // of models that GPUs share
  double most_memory = kFittingShare;                                    // of a GPU's
  std::size_t wanted = 10;
};
// Powers of two up to a node's GPUs and 64 stages, up to eight chunks, micro-batches up to eight.
PlanSpace usual_plan_space();

struct PlannedPoint {
  std::vector<std::pair<std::string, std::string>> settings;  // scenario keys, as --set takes them
  IterationMetrics metrics;
};

struct Plan {
  std::vector<PlannedPoint> best;  // fastest first
  // Combinations: that there are, that do not fit, that a bound ruled out, that were simulated.
  std::size_t considered = 0, too_large = 0, ruled_out = 0, simulated = 0;
  // Where none fits: how little memory one needs at least, over a GPU's.
  double least_memory = 0;
  std::vector<std::pair<std::string, std::string>> smallest;  // of that one
};

// `root`: a model with its cluster and `batch.global`, none of the keys that are searched. Throws InputError
// where no combination is possible.
Plan make_plan(const config::Value& root, const PlanSpace& space, ScenarioReader& reader);

}  // namespace ddpsim
