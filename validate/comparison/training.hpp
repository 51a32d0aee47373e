#pragma once
// A scenario as training of its GPT-2.
#include "validate/harness/step.hpp"

#include "sim/engine/scenario.hpp"

namespace ddpsim::validate {

// By the trace's header: its model, batch size and sequence length. Throws InputError where one is missing,
// the model is none of GPT-2's, or the gradients are not those of that model in float32.
TrainedModel trained_model(const Scenario& scenario);

// An iteration that reduces as the scenario says; its program is the plan's all-reduces, and what is
// launched must be those.
Step training_step(const Scenario& scenario, const std::string& name, const Sampling& sampling);
// One that does not reduce, to record the layer trace that it is predicted from.
Step training_alone_step(const Sampling& sampling);

}  // namespace ddpsim::validate
