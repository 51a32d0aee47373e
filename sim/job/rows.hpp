#pragma once
// The sections of the key table, each in the file that is named after it.
#include "sim/job/job.hpp"
#include "sim/keys/types.hpp"

namespace ddpsim::job {

keys::Type<Workload> workload_rows();
keys::Type<Optimizer> optimizer_rows();
keys::Type<Cluster> cluster_rows();
keys::Type<Collective> collective_rows();
keys::Type<DdpOptions> ddp_rows();
keys::Type<Fsdp> fsdp_rows();
keys::Type<Zero> zero_rows();
keys::Type<Megatron> megatron_rows();
keys::Type<DataParallel> data_parallel_rows();
keys::Type<ParameterServer> parameter_server_rows();
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

keys::Type<DType> training_dtype();  // fp32, bf16, fp16
// An error at a key of the section that is read; "": at the section.
[[noreturn]] void refuse(const keys::Cursor& at, std::string_view key, std::string_view message,
                         std::string_view hint);

}  // namespace ddpsim::job
