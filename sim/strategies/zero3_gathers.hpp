#pragma once
// Which parameters ZeRO 3 gathers when: the walk of its coordinator over the modules of a micro-batch
// (deepspeed/runtime/zero/partitioned_param_coordinator.py of DeepSpeed 0.16.9, fetch_sub_module and
// release_sub_module, with a complete trace of the modules).
#include <optional>

#include "sim/program/module_passes.hpp"
#include "sim/strategies/zero.hpp"

namespace ddpsim {

struct ModuleGathers {
  std::optional<std::size_t> fetch,
      prefetch;                      // gathers, by index: of what is missing, and of what comes next
  std::vector<std::size_t> awaited;  // whose end the module waits for, the first to do so
};

struct GatherSchedule {
  std::vector<std::int64_t> gathers;   // elements, in launch order
  std::vector<ModuleGathers> modules;  // by module, forward and then backward
  std::int64_t persistent = 0;         // elements that are never released: gathered after the optimizer
  std::int64_t most_live = 0;          // elements gathered or on their way at once
};

GatherSchedule schedule_gathers(const LayerTrace& trace, const std::vector<ModulePass>& modules,
                                const ZeroOptions& options);

}  // namespace ddpsim
