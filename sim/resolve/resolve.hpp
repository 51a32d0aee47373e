#pragma once
// From what a job says to everything its run needs.
#include "sim/engine/scenario.hpp"
#include "sim/resolve/files.hpp"

namespace ddpsim {

// `root` is a scenario with overrides applied and without its sweep section. Throws InputError with the place
// and a hint.
Scenario resolve(Files& files, const config::Value& root);
Scenario resolve(Files& files, const GivenJob& given);
// Its workload, strategy, GPU and world size only, of one rank or more: what a GPU computes and keeps,
// without a network.
Scenario resolve_step(Files& files, const config::Value& root);

// With files that nobody needs afterwards.
inline Scenario resolve(Files&& files, const config::Value& root) {
  return resolve(files, root);
}
inline Scenario resolve_step(Files&& files, const config::Value& root) {
  return resolve_step(files, root);
}

}  // namespace ddpsim
