#pragma once
// Plans of strategies with one place that all gradients go to: DataParallel's GPU 0, parameter servers.
#include "sim/engine/scenario.hpp"
#include "sim/text/sections.hpp"

namespace ddpsim {

// Both after the cluster is read, where there is one. Throw InputError where the scenario is none for them.
StrategyPlan make_single_process(const GivenJob& given, Scenario& scenario);
StrategyPlan make_server_plan(const ServerOptions& options, Scenario& scenario);

}  // namespace ddpsim
