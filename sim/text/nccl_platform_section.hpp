#pragma once
#include <string>

#include "sim/config/value.hpp"
#include "sim/topology/topology.hpp"

namespace ddpsim {

// {gpu: hopper, cpu: intel, version: "2.27.6", tuner_nic_latency: 75us, nic_latency: 20us, calibration:
// FILE}; `file` is the file it stands in, `topology` what is known of it already. Throws InputError with the
// place and a hint.
NcclPlatform read_nccl_platform(const config::Value& value, const std::string& file,
                                const Topology& topology);

}  // namespace ddpsim
