#pragma once
// How to spread a model over GPUs (`ddpsim plan`): degrees of parallelism, micro-batch, recomputation and
// strategy, all that fit into memory simulated but those that a bound rules out.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/config/value.hpp"
#include "sim/report/plan_table.hpp"
#include "sim/resolve/resolve.hpp"
#include "sim/study/scenario_metrics.hpp"

namespace ddpsim {

// Below it attention is the smaller part of most models' steps, and samples are shared before sequences are.
inline constexpr std::int64_t kLongSequence = 32768;

// What is tried of each; combinations that a model or a cluster does not have are left out.
struct PlanSpace {
  std::vector<std::int64_t> tensor, context, pipeline, expert, chunks, micro_batch;
  std::int64_t long_sequence = kLongSequence;  // shorter ones are not shared: context 1
  std::vector<std::string> recompute, strategies;
  double most_memory = kFittingShare;  // of a GPU's
  std::size_t wanted = 10;
};
// Powers of two up to a node's GPUs and 64 stages, 16 that share a sequence, 64 that share experts, up to
// eight chunks, micro-batches up to eight.
PlanSpace usual_plan_space();

// Takes the keys that are searched out of a scenario, and what goes with them.
void drop_searched(config::Value& root);

// `root`: a model with its cluster and `batch.global`, none of the keys that are searched. Throws InputError
// where no combination is possible. `on_progress` hears how many of those that fit into memory are done.
using OnPlanned = std::function<void(std::size_t done, std::size_t all)>;
Plan make_plan(const config::Value& root, const PlanSpace& space, Files& files,
               const OnPlanned& on_progress = {});

}  // namespace ddpsim
