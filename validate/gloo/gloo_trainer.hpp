#pragma once
// Trains a GPT-2 of traces/torch_gpt2 on the CPU and reduces its gradients with a process group, in each of
// the ways of Reduction.
#include <memory>

#include "validate/gloo/gloo_group.hpp"
#include "validate/harness/step_performer.hpp"

namespace ddpsim::validate {

// Builds the model with weights and data of its own on every rank, then takes rank 0's weights everywhere.
// `backend` is of the same process group. Throws InputError when the model does not fit into memory.
std::unique_ptr<Trainer> make_gloo_trainer(const GlooGroup& group, CollectiveBackend& backend,
                                           const Job& job);

}  // namespace ddpsim::validate
