#pragma once
// What `simulate` holds its own answer to: the step with few ranks flow by flow, and on the other network.
#include <string>

#include "sim/config/value.hpp"
#include "sim/engine/scenario.hpp"
#include "sim/study/prediction.hpp"

namespace ddpsim::cli {

// The scenario to check with, as asked for and to be simulated flow by flow.
struct FidelityCheck {
  Scenario asked, exact;
};

// With `ranks` at most; of a model that GPUs share with as few copies. Throws InputError where there are no
// links, or so few ranks cannot do.
FidelityCheck read_fidelity_check(const std::string& file, config::Value root, const Scenario& scenario,
                                  int ranks);

// Throws EnvironmentError where SimGrid would be asked and is not found.
void require_other_network(const Scenario& scenario);

// Both simulate, and say what came out side by side.
std::string fidelity_check_text(const FidelityCheck& check, bool quiet);
// `known`: the scenario's prediction, which the other network is to give as well.
std::string network_check_text(const Scenario& scenario, const Prediction& known, bool quiet);

}  // namespace ddpsim::cli
