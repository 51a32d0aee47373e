#pragma once
#include <string>

#include "sim/config/value.hpp"
#include "sim/topology/nccl_platform.hpp"

namespace ddpsim {

// {gpu: hopper, cpu: intel, version: "2.27.6", memory_bandwidth: 3350GB/s, nic_latency: 0us, calibration:
// FILE}; `file` is the file it stands in. Throws InputError with the place and a hint.
NcclPlatform read_nccl_platform(const config::Value& value, const std::string& file);

// The constants for a version of NCCL ("2.26.2"): of the newest minor version that is known and not newer.
nccl::Version as_nccl_version(const config::Value& value);

}  // namespace ddpsim
