#pragma once
// What NCCL's model has to know about a machine beyond its links: the section `nccl` of a topology file.
#include <optional>
#include <string>

#include "sim/base/units.hpp"
#include "sim/nccl/communicator.hpp"
#include "sim/nccl/version.hpp"

namespace ddpsim {

struct NcclPlatform {
  // Whose constants: what the file says, else the release of its calibration, else the newest.
  nccl::Version version = nccl::kDefaultVersion;
  bool says_version = false;
  nccl::Gpu gpu = nccl::Gpu::hopper;
  nccl::Cpu cpu = nccl::Cpu::intel;
  Seconds tuner_nic_latency;                       // as NCCL's network plugin reports it; most report none
  Seconds nic_latency = nccl::kInfiniBandLatency;  // that a message takes between two NICs
  bool says_nic_latency = false;
  bool network_reduces = false;  // its switches add up and multicast (SHARP), and NCCL's plug-in uses it
  std::optional<std::string> calibration;  // path of a calibration file
  std::optional<nccl::Sockets> sockets;    // what joins its nodes is TCP
  bool knows_sockets = false;              // whose NICs they are, or what they do, is said
  std::optional<bool> gpudirect;           // NICs read GPUs' memory; not said: where they are near enough
  bool driver_peer_to_peer = true;         // GPUs may read one another's memory over PCIe
};

}  // namespace ddpsim
