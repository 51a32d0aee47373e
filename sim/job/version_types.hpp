#pragma once
// Releases of NCCL and PyTorch as values of keys.
#include "sim/ddp/reduction_plan.hpp"
#include "sim/keys/table.hpp"
#include "sim/nccl/version.hpp"

namespace ddpsim::job {

// A release whose constants are known. Throws InputError.
nccl::Version as_nccl_version(const config::Value& value);

keys::Type<nccl::Version> nccl_version();
keys::Type<TorchVersion> torch_version();

}  // namespace ddpsim::job
