#include "sim/compute/memory_advice.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "sim/base/limits.hpp"

namespace ddpsim {

std::vector<MemoryOption> memory_options(const ModelStep& step, const HeldStates& held, int ranks) {
  std::vector<MemoryOption> options;
  auto smallest = step;
  std::string together = "weights sharded";
  auto add = [&](const char* change, auto apply) {
    auto changed = step;
    apply(changed.step.shape);
    if (changed.step.shape == step.step.shape) return;
    options.push_back({change, changed.memory(held).peak()});
    apply(smallest.step.shape);
    together += fmt::format(", {}", change);
  };
  add("recompute: full", [](StepShape& shape) { shape.recompute = Recompute::full; });
  add("micro_batch: 1", [](StepShape& shape) { shape.micro_batch = 1; });
  auto sharded = [&](int shards) {
    auto of_shards = held;
    of_shards.sharding = Sharding::weights;
    of_shards.shards = shards;
    of_shards.state = {};
    of_shards.buckets = of_shards.buffers = {};
    of_shards.communicators = std::max(1, held.communicators);
    return smallest.memory(of_shards).peak();
  };
  bool has_changed = !(smallest.step.shape == step.step.shape);
  if (ranks > 1 && has_changed)
    options.push_back({fmt::format("{}, over {} ranks", together, ranks), sharded(ranks)});
  for (int n = 2; n <= kLargestWorldSize; n *= 2) {
    auto peak = sharded(n);
    if (fit_of(peak, step.gpu.memory) != Fit::yes) continue;
    if (n > ranks) options.push_back({fmt::format("{}, over {} ranks", together, n), peak});
    break;
  }
  return options;
}

}  // namespace ddpsim
