#pragma once
// What NCCL's model has to know about a machine beyond its links: the section `nccl` of a topology file.
#include <optional>
#include <string>

#include "sim/base/units.hpp"
#include "sim/nccl/names.hpp"

namespace ddpsim {

struct NcclPlatform {
  nccl::Version version = nccl::Version::v2_27_6;  // whose constants
  nccl::Gpu gpu = nccl::Gpu::hopper;
  nccl::Cpu cpu = nccl::Cpu::intel;
  BytesPerSecond memory_bandwidth;         // of a GPU
  Seconds nic_latency;                     // as NCCL's network plugin reports it; most report none
  std::optional<std::string> calibration;  // path of a calibration file
};

// Throws InputError (without a place) when that version of NCCL does not know that GPU.
void check_version(const NcclPlatform& platform);

}  // namespace ddpsim
