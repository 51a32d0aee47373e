#include "sim/compute/memory_advice.hpp"

#include <fmt/core.h>

#include "sim/base/limits.hpp"

namespace ddpsim {

std::vector<MemoryOption> memory_options(const ModelStep& step, int ranks, Bytes buckets) {
  std::vector<MemoryOption> options;
  auto smallest = step;
  std::string together = "weights sharded";
  auto add = [&](const char* change, auto apply) {
    auto changed = step;
    apply(changed.step.shape);
    if (changed.step.shape == step.step.shape) return;
    options.push_back({change, changed.memory(Sharding::none, 1, buckets).peak()});
    apply(smallest.step.shape);
    together += fmt::format(", {}", change);
  };
  add("recompute: full", [](StepShape& shape) { shape.recompute = Recompute::full; });
  add("micro_batch: 1", [](StepShape& shape) { shape.micro_batch = 1; });
  if (ranks > 1) {
    for (auto [sharding, what] : {std::pair{Sharding::optimizer, "optimizer (ZeRO-1)"},
                                  std::pair{Sharding::gradients, "optimizer and gradients (ZeRO-2)"},
                                  std::pair{Sharding::weights, "weights as well (ZeRO-3, FSDP)"}})
      options.push_back(
          {fmt::format("sharded over {} ranks: {}", ranks, what),
           step.memory(sharding, ranks, sharding == Sharding::weights ? Bytes() : buckets).peak()});
    if (!(smallest.step.shape == step.step.shape))
      options.push_back({fmt::format("{}, over {} ranks", together, ranks),
                         smallest.memory(Sharding::weights, ranks, Bytes()).peak()});
  }
  for (int n = 2; n <= kLargestWorldSize; n *= 2) {
    auto peak = smallest.memory(Sharding::weights, n, Bytes()).peak();
    if (peak > step.gpu.memory * kFittingShare) continue;
    if (n > ranks) options.push_back({fmt::format("{}, over {} ranks", together, n), peak});
    break;
  }
  return options;
}

}  // namespace ddpsim
