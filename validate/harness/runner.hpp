#pragma once
// Runs a job's steps on a backend, in rounds, until each is measured well enough.
#include "validate/harness/rank_status.hpp"
#include "validate/harness/step.hpp"
#include "validate/harness/step_performer.hpp"

namespace ddpsim::validate {

// All ranks call it with the same job and get the same samples. Throws RunFailed when a collective failed or
// what it reduced is wrong.
// `trainer` may be null where no step trains.
RunResult run_job(CollectiveBackend& backend, Trainer* trainer, const Job& job, StatusReporter& status);

}  // namespace ddpsim::validate
