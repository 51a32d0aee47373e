#pragma once
// The sections of the key table, each in the file that is named after it.
#include "sim/job/job.hpp"
#include "sim/job/types.hpp"
#include "sim/keys/types.hpp"

namespace ddpsim::job {

keys::Type<Workload> workload_rows();
keys::Type<Optimizer> optimizer_rows();
keys::Type<Cluster> cluster_rows();
keys::Type<Collective> collective_rows();
keys::Type<HostMachine> host_rows();
keys::Type<Parallelism> parallelism_rows();
keys::Type<Pipeline> pipeline_rows();
keys::Type<Tensor> tensor_rows();
keys::Type<Context> context_rows();
keys::Type<Expert> expert_rows();
keys::Type<Batch> batch_rows();
keys::Type<Physics> physics_rows();
keys::Type<Spread> spread_rows();
keys::Type<Failures> failures_rows();
keys::Type<Variability> variability_rows();
keys::Type<Engine> engine_rows();
keys::Type<Validation> validation_rows();

}  // namespace ddpsim::job
