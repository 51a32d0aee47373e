#pragma once
// Waits where the model would compute.
#include <memory>

#include "validate/harness/step_performer.hpp"

namespace ddpsim::validate {

// For the steps of `job` that do not train. The backend must outlive it.
std::unique_ptr<StepPerformer> make_replayer(CollectiveBackend& backend, const Job& job);

}  // namespace ddpsim::validate
